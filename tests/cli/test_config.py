"""`turnkeeper config` as a person uses it (D1, D2)."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.cli.test_command_line import only_line, turnkeeper

pytestmark = pytest.mark.rules("D1", "D2")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_all_settings_are_printed_and_the_file_is_named(folder: Path) -> None:
    result = turnkeeper("config", env={"TURNKEEPER_PORT": "9000"})

    assert result.exit_code == 0
    assert tomllib.loads(result.stdout)["port"] == 9000
    assert "port = 9000  # TURNKEEPER_PORT" in result.stdout
    assert only_line(result.stderr) == f"turnkeeper: {folder / 'turnkeeper.toml'} is not there"


def test_only_what_was_changed_is_printed(folder: Path) -> None:
    (folder / "turnkeeper.toml").write_text("queue_limit = 3\n", encoding="utf-8")
    result = turnkeeper("config", "--changed")

    assert result.stdout == "# Queue, stop and start\nqueue_limit = 3  # turnkeeper.toml\n"
    assert only_line(result.stderr) == f"turnkeeper: {folder / 'turnkeeper.toml'} is read"


def test_programs_get_json(folder: Path) -> None:
    (folder / "turnkeeper.toml").write_text("queue_limit = 3\n", encoding="utf-8")

    assert json.loads(turnkeeper("config", "--json", "--changed").stdout) == {
        "queue_limit": {"value": 3, "source": "file"}
    }


def test_the_example_can_be_copied_and_changes_nothing(folder: Path) -> None:
    before = turnkeeper("config").stdout
    (folder / "turnkeeper.toml").write_text(turnkeeper("config", "--example").stdout, encoding="utf-8")

    assert turnkeeper("config").stdout == before


@pytest.mark.parametrize("other", ["--json", "--changed"])
def test_the_example_is_printed_alone(other: str) -> None:
    result = turnkeeper("config", "--example", other)

    assert (result.exit_code, result.stdout) == (2, "")
    assert "say it alone" in only_line(result.stderr)


def test_a_wrong_setting_is_told_in_one_line(folder: Path) -> None:
    (folder / "turnkeeper.toml").write_text("queue_limit = 0\n", encoding="utf-8")
    result = turnkeeper("config")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "queue_limit in turnkeeper.toml" in only_line(result.stderr)
