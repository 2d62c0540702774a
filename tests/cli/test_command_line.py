import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service import __version__
from service.cli.app import app
from service.cli.demo import command as demo_command

pytestmark = pytest.mark.rules("D2")


def turnkeeper(*arguments: str, env: Mapping[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), env=env, catch_exceptions=False)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def only_line(text: str) -> str:
    line, end, rest = text.partition("\n")
    assert (end, rest) == ("\n", "")
    return line


def test_the_version_is_printed() -> None:
    assert turnkeeper("--version").stdout == f"turnkeeper {__version__}\n"


def test_an_unknown_command_is_wrong_use() -> None:
    assert turnkeeper("sreve").exit_code == 2


def test_serve_says_in_one_line_that_its_port_is_in_use(taken_port: int) -> None:
    result = turnkeeper("serve", "--port", str(taken_port), "--database-url", "memory:")

    assert result.exit_code == 1
    assert only_line(result.stderr).startswith(f"turnkeeper: port {taken_port} of 127.0.0.1 is in use; choose")


@pytest.mark.rules("D1")
def test_serve_says_in_one_line_which_setting_is_wrong() -> None:
    result = turnkeeper("serve", env={"TURNKEEPER_LLAMA_URL": "no address"})

    assert result.exit_code == 2
    assert "TURNKEEPER_LLAMA_URL" in only_line(result.stderr)


@pytest.mark.rules("D1")
def test_an_option_wins_over_the_environment(taken_port: int) -> None:
    result = turnkeeper("serve", "--port", str(taken_port), "--database-url", "memory:", env={"TURNKEEPER_PORT": "1"})

    assert f"port {taken_port} of" in result.stderr


@pytest.mark.parametrize(
    ("option", "variable", "name"),
    [
        ("--port", "TURNKEEPER_PORT", "the service"),
        ("--tool-port", "DEMO_TOOL_PORT", "the example tool port"),
        ("--llama-port", "DEMO_LLAMA_PORT", "llama-server"),
    ],
)
def test_demo_names_the_port_that_is_in_use_and_how_to_choose_another(
    option: str, variable: str, name: str, taken_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_command, "packaged_model", lambda: Path("small.gguf"))
    free = {"--port": "0", "--tool-port": "0", "--llama-port": "0"}
    free = {other: _free_port() for other in free} | {option: str(taken_port)}

    result = turnkeeper("demo", *(part for pair in free.items() for part in pair))

    assert result.exit_code == 1
    expected = f"port {taken_port} of 127.0.0.1 is in use, and {name} needs it; choose another with {option}"
    assert only_line(result.stderr) == f"turnkeeper: {expected} or the variable {variable}"


def test_demo_without_a_llama_server_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_command, "packaged_model", lambda: None)

    result = turnkeeper("demo")

    assert result.exit_code == 1
    for way in ("brew install", "winget install", "docker image", "TURNKEEPER_LLAMA_URL"):
        assert way in only_line(result.stderr)


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
