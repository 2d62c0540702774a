"""K3, K5, D2: `chat` and `read` send the key that they are given, tell of one that is refused, and never print it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.cli.app import app
from service.config import unknown_variables
from tests.adapters.door_service import FORBIDDEN, LACKS_SCOPE, UNAUTHORIZED, UNKNOWN, DoorService, door_service
from tests.core.made_keys import CI_TEXT, PHONE_TEXT
from tests.web.serving import BOUND_S

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K3", "D2")]

VARIABLE = "TURNKEEPER_API_KEY"


def turnkeeper(*arguments: str, env: Mapping[str, str | None]) -> Result:
    return CliRunner().invoke(app, list(arguments), input=b"Hello\n", env=env, catch_exceptions=False)


async def ask(
    command: str, door: DoorService, folder: Path, *arguments: str, env: Mapping[str, str | None] | None = None
) -> Result:
    (folder / "book.txt").write_text("Part 1")
    asked = {"chat": ("chat",), "read": ("read", str(folder / "book.txt"), "--query", "Where?")}[command]
    async with asyncio.timeout(BOUND_S):
        return await asyncio.to_thread(
            turnkeeper, *asked, "--url", door.url, *arguments, env={VARIABLE: None, **(env or {})}
        )


def refused(result: Result) -> tuple[int, str]:
    """Give the exit code and the last line that was said; the answer is missing."""
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.exit_code, result.stderr.splitlines()[-1].removeprefix("turnkeeper: ")


@pytest.mark.parametrize("command", ["chat", "read"])
async def test_the_key_comes_from_the_environment(command: str, tmp_path: Path) -> None:
    async with door_service(UNAUTHORIZED) as door:
        await ask(command, door, tmp_path, env={VARIABLE: f" {CI_TEXT}\n"})

    assert door.keys == {f"Bearer {CI_TEXT}"}


@pytest.mark.parametrize("command", ["chat", "read"])
async def test_a_file_with_a_key_counts_more_than_the_environment(command: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{PHONE_TEXT}\n")
    async with door_service(UNAUTHORIZED) as door:
        await ask(command, door, tmp_path, "--api-key-file", str(tmp_path / "key"), env={VARIABLE: CI_TEXT})

    assert door.keys == {f"Bearer {PHONE_TEXT}"}


@pytest.mark.parametrize("env", [{}, {VARIABLE: ""}])
@pytest.mark.parametrize("command", ["chat", "read"])
async def test_without_a_key_none_is_sent(command: str, env: Mapping[str, str], tmp_path: Path) -> None:
    async with door_service(UNAUTHORIZED) as door:
        await ask(command, door, tmp_path, env=env)

    assert door.keys == {None}


@pytest.mark.rules("K5")
@pytest.mark.parametrize("command", ["chat", "read"])
async def test_a_key_that_is_missing_or_wrong_is_told_with_what_to_set(command: str, tmp_path: Path) -> None:
    async with door_service(UNAUTHORIZED) as door:
        result = await ask(command, door, tmp_path, env={VARIABLE: CI_TEXT})

    assert refused(result) == (
        1,
        f"no API key, or a wrong one: set TURNKEEPER_API_KEY, or say --api-key-file ({UNKNOWN})",
    )
    assert CI_TEXT not in result.output


@pytest.mark.rules("K5")
@pytest.mark.parametrize("command", ["chat", "read"])
async def test_a_key_that_lacks_a_scope_is_told_with_its_name(command: str, tmp_path: Path) -> None:
    async with door_service(FORBIDDEN) as door:
        result = await ask(command, door, tmp_path, env={VARIABLE: CI_TEXT})

    assert refused(result) == (1, LACKS_SCOPE)
    assert CI_TEXT not in result.output


@pytest.mark.rules("K5")
@pytest.mark.parametrize(
    "text", [f"{CI_TEXT}\n{PHONE_TEXT}", f"{CI_TEXT}\r\nX-Other: 1", f"{CI_TEXT}é", "x" * 201, "two words"]
)
async def test_what_can_be_no_key_is_refused_without_being_sent_or_printed(text: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(text)
    said = "holds no API key: that is one word of at most 200 characters"
    async with door_service(UNAUTHORIZED) as door:
        of_variable = await ask("chat", door, tmp_path, env={VARIABLE: text})
        of_file = await ask("chat", door, tmp_path, "--api-key-file", str(tmp_path / "key"))

    assert refused(of_variable) == (2, f"{VARIABLE} {said}")
    assert refused(of_file) == (2, f"{tmp_path / 'key'} {said}")
    assert CI_TEXT not in of_variable.output + of_file.output
    assert door.asked == []


@pytest.mark.parametrize(
    ("content", "said"), [(None, "can't be read: No such file or directory"), ("", "holds no API key")]
)
async def test_a_key_file_that_is_missing_or_empty_is_told(content: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_text(content)
    async with door_service(UNAUTHORIZED) as door:
        exit_code, line = refused(
            await ask("read", door, tmp_path, "--api-key-file", str(path), env={VARIABLE: CI_TEXT})
        )

    assert exit_code == 2
    assert line.startswith(f"{path} {said}")
    assert door.asked == []


def test_the_variable_of_the_clients_is_no_slip_in_the_name_of_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, CI_TEXT)
    monkeypatch.setenv("TURNKEEPER_API_KEYS", "x")

    assert unknown_variables() == ["TURNKEEPER_API_KEYS"]
