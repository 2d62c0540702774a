from pathlib import Path

import pytest

from deploy import setup_env
from deploy.setup_env import DEPLOY, LLAMA_SERVER, SERVICE, WORDS, Step

NO_WHEEL = "ERROR: Could not find a version that satisfies a\nERROR: No matching distribution found for a\n"
UNREACHED = f"WARNING: Retrying (Retry(total=0)) after connection broken\n{NO_WHEEL}"


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Step:
    """A step over one file, in a virtual environment that has only a note of what is done."""
    monkeypatch.setattr(setup_env, "ROOT", tmp_path)
    monkeypatch.setattr(setup_env, "DONE", tmp_path / "setup.json")
    (tmp_path / "pins.txt").write_text("a==1")
    return Step(name="service", says="what the service needs", files=("pins.txt",), arguments=())


def test_a_step_is_missing_until_it_has_succeeded(step: Step) -> None:
    assert list(setup_env.missing_steps((step,))) == [step]

    setup_env.remember(step)

    assert list(setup_env.missing_steps((step,))) == []


def test_a_step_is_missing_again_when_one_of_its_files_changes(step: Step, tmp_path: Path) -> None:
    setup_env.remember(step)

    (tmp_path / "pins.txt").write_text("a==2")

    assert list(setup_env.missing_steps((step,))) == [step]


def test_a_note_that_cannot_be_read_counts_as_none(step: Step, tmp_path: Path) -> None:
    (tmp_path / "setup.json").write_text("{half")

    assert list(setup_env.missing_steps((step,))) == [step]


def test_a_llama_server_of_ones_own_saves_the_download(
    step: Step, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TURNKEEPER_LLAMA_URL", "http://127.0.0.1:8080")

    assert list(setup_env.missing_steps((step, LLAMA_SERVER))) == [step]


def test_a_platform_without_a_wheel_is_told_from_an_index_out_of_reach() -> None:
    assert setup_env.lacks_wheel(NO_WHEEL)
    assert not setup_env.lacks_wheel(UNREACHED)
    assert setup_env.unreached(UNREACHED)


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (NO_WHEEL, "No matching distribution found for a"),
        ("Collecting a\nERROR: hashes do not match\nnote: see above\n", "hashes do not match"),
        ("Segmentation fault\n", "Segmentation fault"),
        ("", "no output"),
    ],
)
def test_the_line_that_tells_what_went_wrong_is_shown(output: str, line: str) -> None:
    assert setup_env.last_line(output) == line


def test_the_demo_needs_no_tools_of_developers() -> None:
    assert {step.name for step in WORDS["demo"]} == {SERVICE.name, "project", LLAMA_SERVER.name}


def test_checkers_of_what_is_deployed_are_installed_for_that_alone() -> None:
    assert [word for word, steps in WORDS.items() if DEPLOY in steps] == ["deploy"]
    assert WORDS["deploy"] == (DEPLOY,)


def test_each_step_names_files_that_exist() -> None:
    root = Path(setup_env.__file__).parent.parent
    files = {file for steps in WORDS.values() for step in steps for file in step.files}

    assert [file for file in sorted(files) if not (root / file).is_file()] == []
