"""The program starts without its servers, says in one line what is missing, and is ready when they come (D2, L7)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.cases.fake_port import FakePort
from tests.cases.replies import say
from tests.cases.strict_llama import StrictLlama
from tests.cli.test_serve import free_port
from tests.cli.whole_program import PATIENCE_S, Program, running

pytestmark = [pytest.mark.anyio, pytest.mark.rules("D2", "L7")]


def for_people(lines: list[str]) -> list[str]:
    """Leave out the log's lines."""
    return [line for line in lines if line.startswith("turnkeeper: ")]


async def lines(program: Program, number: int) -> set[str]:
    """Give so many of the lines that are for a person; others are the log's."""
    assert program.process.stderr is not None
    found: set[str] = set()
    async with asyncio.timeout(PATIENCE_S):
        while len(found) < number:
            line = (await program.process.stderr.readline()).decode()
            assert line, f"the program ended after {found}"
            if line.startswith("turnkeeper: "):
                found.add(line.strip())
    return found


async def test_what_is_missing_is_told_and_what_comes_is_used(tmp_path: Path) -> None:
    llama, port = StrictLlama(say("Here I am.")).at(free_port()), FakePort().at(free_port())
    llama_url, port_url = f"http://127.0.0.1:{llama.port}", f"http://127.0.0.1:{port.port}"
    async with running(tmp_path, llama_url, port_url) as program:
        missing = await lines(program, 2)
        unready = await program.http.get("/readyz")
        async with llama, port:
            there = await lines(program, 2)
            ready = await program.http.get("/readyz")
            turn = await program.finish(await program.start(await program.session(), "Are you there?"))

    assert any(llama_url in line and "start it there" in line for line in missing)
    assert any("TURNKEEPER_TOOL_PORT_URL" in line for line in missing)
    assert {line.split(": ")[1] for line in there} == {"llama-server is ready", "the tool port is ready"}
    assert (unready.status_code, ready.status_code) == (503, 200)
    assert (turn["outcome"], turn["content"]) == ("answered", "Here I am.")


@pytest.mark.rules("S2")
async def test_a_store_that_was_not_there_is_told_and_one_that_was_is_not(tmp_path: Path) -> None:
    async with StrictLlama(say("Hello.")) as llama:
        async with running(tmp_path / "new", llama.url) as program:
            made = for_people(program.said)
            program.process.terminate()
            await program.end(PATIENCE_S)
        async with running(tmp_path / "new", llama.url) as program:
            again = for_people(program.said)

    assert made == [f"turnkeeper: there was no store {tmp_path / 'new/store.db'}, so a new one was made"]
    assert again == []
