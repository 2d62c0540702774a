"""`turnkeeper doctor` over a fake model server and a fake tool port: what it says, and how it ends (D2, L10)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from service.adapters.log_sql import open_sql_log
from service.core.ids import SessionId
from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort
from tests.cases.rendering import render
from tests.cases.replies import say
from tests.cases.strict_llama import StrictLlama
from tests.cli.stored_logs import url_of, write_log
from tests.fakes.tool_port import spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("D2")]

NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Result:
    """What a command left at the terminal."""

    exit_code: int
    stdout: str
    stderr: str


async def examined(*arguments: str, **environment: str) -> Result:
    """Run the command beside the servers of this loop."""
    command = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "service", "doctor", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **environment},
    )
    stdout, stderr = await command.communicate()
    assert command.returncode is not None  # it has ended
    return Result(command.returncode, stdout.decode(), stderr.decode())


@asynccontextmanager
async def surroundings(*tools: dict[str, object]) -> AsyncGenerator[tuple[str, ...]]:
    """A model server and a tool port that answer; gives the options that name them."""
    async with StrictLlama(lambda asked: say("Yes.")) as llama, FakePort(*tools) as port:
        yield "--llama-url", llama.url, "--tool-port-url", port.url


@pytest.mark.rules("L10")
async def test_what_the_template_can_not_do_is_told_in_words_and_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_tools(body: JsonObject) -> str:
        return render({**body, "tools": []})

    monkeypatch.setattr("tests.cases.strict_llama.render", without_tools)
    async with surroundings(spec("weather")) as options:
        result = await examined(*options, "--database-url", url_of(tmp_path / "none.db"))

    store, llama, port = result.stdout.splitlines()
    assert result.exit_code == 0
    assert store.startswith("ok: store: there is no file ")
    assert store.endswith("; the first start makes it")
    assert llama.startswith("warning: llama_server: 8 slots of 100000 tokens. ")
    assert "This template does not show tools to the model" in llama
    assert port == "ok: tool_port: 1 tools"
    assert not (tmp_path / "none.db").exists()


@pytest.mark.rules("X3")
async def test_a_tool_that_is_left_out_is_a_warning(tmp_path: Path) -> None:
    async with surroundings(spec("weather"), spec("find_tool")) as options:
        result = await examined(*options, "--database-url", url_of(tmp_path / "none.db"))

    assert result.exit_code == 0
    assert "warning: tool_port: 1 tools; left out: find_tool (" in result.stdout


async def test_a_store_that_a_service_has_open_can_be_looked_at(tmp_path: Path) -> None:
    database = tmp_path / "store.db"
    async with open_sql_log(url_of(database)) as store, surroundings(spec("weather")) as options:
        await write_log(store, SessionId("ses_1"), 3)

        result = await examined(*options, "--database-url", url_of(database))

    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "ok: store: is there and can be read")


async def test_what_does_not_answer_is_named_and_ends_with_one(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, but it is long enough to be looked at" * 20)

    result = await examined(
        "--llama-url", NOWHERE, "--tool-port-url", NOWHERE, "--database-url", url_of(tmp_path / "text.db")
    )

    assert result.exit_code == 1
    assert [line.split(": ")[:2] for line in result.stdout.splitlines()] == [
        ["wrong", "store"],
        ["wrong", "llama_server"],
        ["wrong", "tool_port"],
    ]


async def test_a_store_that_keeps_nothing_is_a_warning() -> None:
    async with surroundings() as options:
        result = await examined(*options, "--database-url", "memory:")

    assert result.exit_code == 0
    assert result.stdout.startswith("warning: store: memory: keeps nothing")


@pytest.mark.rules("G1", "D1")
async def test_a_wrong_setting_or_agents_file_is_one_line(tmp_path: Path) -> None:
    wrong = await examined("--llama-url", "nonsense")
    (tmp_path / "agents.toml").write_text('default = "nobody"')
    file = str(tmp_path / "agents.toml")
    agents = await examined("--database-url", url_of(tmp_path / "none.db"), TURNKEEPER_AGENTS_FILE=file)

    assert (wrong.exit_code, agents.exit_code) == (2, 2)
    assert wrong.stderr.count("\n") == agents.stderr.count("\n") == 1
    assert "agents.toml" in agents.stderr
