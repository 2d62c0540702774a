"""How the checkers of others are run over what is deployed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from deploy.check_compose import shown_defaults
from deploy.checkers import CheckFailed, program, run


def test_a_checker_that_is_missing_is_named() -> None:
    with pytest.raises(CheckFailed, match="no-such-checker isn't installed"):
        program("no-such-checker")


def test_what_a_checker_finds_is_told(tmp_path: Path) -> None:
    finds = "import sys; print('line 3 is wrong'); print('so is 4', file=sys.stderr); sys.exit(2)"

    with pytest.raises(CheckFailed, match=r"ends with 2\nline 3 is wrong\nso is 4$"):
        run([sys.executable, "-c", finds], folder=tmp_path)


def test_a_checker_runs_in_its_folder_with_the_variables_that_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPOSE_FILE", "other.yaml")
    tells = "import os; print(os.path.basename(os.getcwd()), os.environ.get('COMPOSE_FILE'))"

    assert run([sys.executable, "-c", tells], folder=tmp_path, environment={}) == f"{tmp_path.name} None\n"


def test_an_example_of_variables_is_read_with_all_that_it_shows_but_composes_own() -> None:
    example = "# Words.\n#MODEL=a/b:Q4\n\n# More words, with an = in them.\nPORT=8000\n#COMPOSE_PROFILES=monitoring\n"

    assert shown_defaults(example) == "MODEL=a/b:Q4\nPORT=8000\n"
