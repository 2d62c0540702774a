"""What is in force is told with its source, as a file that would give it again, and without secrets (D1, K5)."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from service.config import Settings, load_settings
from service.config.in_force import json_in_force, toml_in_force
from service.config.origins import Origin, origins
from tests.secrets.canaries import TOOL_PORT_TOKEN
from tests.secrets.search import canaries_in

pytestmark = pytest.mark.rules("D1", "K5")

FILE = """
port = 9000
tool_iterations = 3
allowed_hosts = ["chat.example", 'a "quoted" one']
approver_keys = { ada = "ebVWLo_mVPlAeLES6KmLp5AfhTrmlb7X4OORC60ElmQ" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turnkeeper.toml").write_text(FILE, encoding="utf-8")
    return tmp_path


def lines(*, only_changed: bool = False) -> dict[str, str]:
    """The lines of settings, by their names."""
    told = toml_in_force(load_settings(), origins(), only_changed=only_changed)
    return {line.removeprefix("# ").split()[0]: line for line in told.splitlines() if "  # " in line}


def test_each_value_is_told_with_where_it_came_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNKEEPER_TOOL_ITERATIONS", "5")
    monkeypatch.setenv("TURNKEEPER_QUEUE_LIMIT", "")
    told = lines()

    assert told["tool_iterations"] == "tool_iterations = 5  # TURNKEEPER_TOOL_ITERATIONS"
    assert told["port"] == "port = 9000  # turnkeeper.toml"
    assert told["queue_limit"] == "queue_limit = 16  # default"
    assert told["model"] == "# model is not set  # default"
    assert set(told) == set(Settings.model_fields)


def test_what_is_told_gives_the_same_settings_again(folder: Path) -> None:
    settings = load_settings()
    (folder / "turnkeeper.toml").write_text(toml_in_force(settings, origins()), encoding="utf-8")

    assert load_settings() == settings


@pytest.mark.parametrize("name", ["folder with spaces", "é ü 😀", 'a"b\\c', "tab\tdel\x7f"])
def test_a_path_of_any_letters_is_told_as_toml_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    told = toml_in_force(load_settings(agents_file=Path(name)), origins())

    assert tomllib.loads(told)["agents_file"] == name


def test_only_what_was_changed_is_told_when_that_is_asked_for(folder: Path) -> None:
    assert set(lines(only_changed=True)) == {"port", "tool_iterations", "allowed_hosts", "approver_keys"}
    assert {origins()[name] for name in lines(only_changed=True)} == {Origin.FILE}


def test_programs_get_the_same_as_json(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNKEEPER_LLAMA_API_KEY", "abcdefgh")
    told = json.loads(json_in_force(load_settings(), origins()))

    assert told["port"] == {"value": 9000, "source": "file"}
    assert told["llama_api_key"] == {"is_set": True, "source": "environment"}
    assert told["tool_port_token"] == {"value": None, "source": "default"}
    assert set(told) == set(Settings.model_fields)


def test_a_secret_is_never_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNKEEPER_TOOL_PORT_TOKEN", TOOL_PORT_TOKEN)
    monkeypatch.setenv("TURNKEEPER_TOOL_PORT_URL", f"http://port:{TOOL_PORT_TOKEN}@127.0.0.1:1/tools")
    monkeypatch.setenv("TURNKEEPER_DATABASE_URL", f"postgresql://tk:{TOOL_PORT_TOKEN}@db/turns")
    settings = load_settings()
    told = toml_in_force(settings, origins()) + json_in_force(settings, origins())

    assert not canaries_in(told.encode())
    assert len(re.findall(r"http://port:\*\*\*@127\.0\.0\.1:1/tools", told)) == 2
    assert len(re.findall(r"postgresql://tk:\*\*\*@db/turns", told)) == 2
    assert "# tool_port_token is set, and not shown  # TURNKEEPER_TOOL_PORT_TOKEN" in told
