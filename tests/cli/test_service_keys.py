"""K2, K3: with which keys a service starts: with none, with those of a file, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import typer

from service.bootstrap import change_keys
from service.cli.service_keys import service_keys
from service.core.callers import Scope
from service.core.ids import OwnerId

pytestmark = pytest.mark.rules("K2", "K3")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def add(path: Path) -> str:
    return change_keys(path).add("ci", owner=OwnerId("ci"), scopes=frozenset(Scope)).text


def test_without_a_file_no_key_is_asked_for() -> None:
    assert service_keys(None) is None


def test_the_keys_of_a_file_that_is_its_owners_alone_are_good_without_a_word(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = add(path)

    keys = service_keys(path)

    assert keys is not None
    assert keys.caller(key) is not None
    assert keys.caller(f"{key}x") is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(os.name != "posix", reason="file modes say nothing there")
def test_a_file_that_others_can_read_is_warned_of_once_and_used(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = add(path)
    path.chmod(0o644)

    keys = service_keys(path)

    assert keys is not None
    assert keys.caller(key) is not None
    said = f"turnkeeper: others can read the API keys in {path} (mode 0644); chmod 600 ends that\n"
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "is not there; `turnkeeper keys add NAME` makes it"), ("{}", "can't be used: it lacks version, keys")],
)
def test_a_file_that_is_missing_or_wrong_ends_the_start_with_one_line(
    path: Path, capsys: pytest.CaptureFixture[str], content: str | None, said: str
) -> None:
    if content is not None:
        path.write_text(content)

    with pytest.raises(typer.Exit) as ended:
        service_keys(path)

    assert ended.value.exit_code == 1
    assert capsys.readouterr() == ("", f"turnkeeper: {path} {said}\n")
