"""What `turnkeeper doctor` sees of the service itself: whether it runs, its keys, agents and settings."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from service import __version__
from service.bootstrap import change_keys
from service.core.callers import Scope
from service.core.diagnosis.findings import Code
from service.core.ids import OwnerId
from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort
from tests.cases.http_fake import Exchange, HttpFake
from tests.cli.examined_parts import NOWHERE, ToldLlama, codes, examine_with, said
from tests.cli.whole_program import running
from tests.fakes.tool_port import spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("D2")]

AGENTS = """
[agents.keeper]
tools = { names = ["weather", "tide"] }
limits = { tool_iterations = 9 }
thinking = "off"
model = "big"
"""


async def test_a_service_that_runs_is_told_with_its_version(tmp_path: Path) -> None:
    async with ToldLlama() as llama, running(tmp_path, llama.url) as program:
        found = await examine_with(tmp_path, llama_url=llama.url, port=program.http.base_url.port)

    assert said(Code.SERVICE_RUNS, found).startswith(f"Version {__version__} runs at http://127.0.0.1:")
    assert Code.PORT_TAKEN not in codes(found)


async def test_a_service_that_does_not_run_is_no_fault(tmp_path: Path, free_port: int) -> None:
    found = await examine_with(tmp_path, llama_url=NOWHERE, port=free_port)

    assert said(Code.SERVICE_DOES_NOT_RUN, found) == f"No service runs at http://127.0.0.1:{free_port}."


@pytest.mark.parametrize(
    ("host", "asked"), [("::1", "[::1]"), ("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("localhost", "localhost")]
)
async def test_a_service_is_asked_where_it_can_be_reached_from_here(
    tmp_path: Path, free_port: int, host: str, asked: str
) -> None:
    keys = tmp_path / "keys.json"
    found = await examine_with(tmp_path, llama_url=NOWHERE, host=host, port=free_port, api_keys_file=keys)

    assert said(Code.SERVICE_DOES_NOT_RUN, found) == f"No service runs at http://{asked}:{free_port}."


@pytest.mark.parametrize(
    ("status", "answer", "code"),
    [
        (200, {"status": "ok", "version": "0.0.1"}, Code.SERVICE_OTHER_VERSION),
        (421, {"detail": "not this host", "code": "wrong_host"}, Code.SERVICE_RUNS),
        (200, {"hello": "world"}, Code.PORT_TAKEN),
        (404, {}, Code.PORT_TAKEN),
        (500, {"detail": "no"}, Code.PORT_TAKEN),
        (200, b"<html>", Code.PORT_TAKEN),
    ],
)
async def test_what_answers_at_the_services_address_is_told(
    tmp_path: Path, status: int, answer: Any, code: Code
) -> None:
    async def tell(exchange: Exchange) -> None:
        await exchange.answer(answer, status)

    async with HttpFake(tell) as there:
        port = int(there.url.rpartition(":")[2])
        found = await examine_with(tmp_path, llama_url=NOWHERE, port=port)

    known = {Code.SERVICE_OTHER_VERSION, Code.SERVICE_RUNS, Code.PORT_TAKEN, Code.SERVICE_DOES_NOT_RUN}
    assert codes(found) & known == {code}


def add_key(file: Path) -> None:
    change_keys(file).add("ada", owner=OwnerId("ada"), scopes=frozenset({Scope.TURNS}))


def revoke_key(file: Path) -> None:
    change_keys(file).revoke("ada")


async def test_what_takes_a_connection_at_the_services_address_and_is_silent_is_in_its_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.bootstrap.service_look.ANSWER_S", 0.2)

    async def wait(_: Exchange) -> None:
        await asyncio.Event().wait()

    async with HttpFake(wait) as there:
        found = await examine_with(tmp_path, llama_url=NOWHERE, port=int(there.url.rpartition(":")[2]))

    assert Code.PORT_TAKEN in codes(found)


@pytest.mark.rules("K3")
async def test_a_file_of_keys_is_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    missing = await examine_with(tmp_path, llama_url=NOWHERE, api_keys_file=file)
    file.write_text("no keys at all")
    wrong = await examine_with(tmp_path, llama_url=NOWHERE, api_keys_file=file)
    file.unlink()
    await asyncio.to_thread(add_key, file)
    good = await examine_with(tmp_path, llama_url=NOWHERE, api_keys_file=file, host="0.0.0.0")
    await asyncio.to_thread(revoke_key, file)
    none = await examine_with(tmp_path, llama_url=NOWHERE, api_keys_file=file)

    assert said(Code.KEYS_UNUSABLE, missing).startswith(f"{file} is not there. ")
    assert f"{file} can't be used" in said(Code.KEYS_UNUSABLE, wrong)
    assert codes(good).isdisjoint({Code.KEYS_UNUSABLE, Code.KEYS_NONE, Code.KEYS_READABLE_BY_OTHERS})
    assert Code.HOST_OPEN in codes(good)
    assert Code.HOST_OPEN not in codes(none)
    assert Code.KEYS_NONE in codes(none)


@pytest.mark.rules("K3")
@pytest.mark.skipif(sys.platform == "win32", reason="file modes say nothing there")
async def test_a_file_of_keys_that_others_may_read_is_told(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_text('{"version": 1, "keys": []}')
    file.chmod(0o640)

    found = await examine_with(tmp_path, llama_url=NOWHERE, api_keys_file=file)

    assert "mode 0640" in said(Code.KEYS_READABLE_BY_OTHERS, found)


@pytest.mark.rules("G1")
async def test_an_agent_whose_sessions_would_be_refused_is_told_with_what_is_wrong_in_it(tmp_path: Path) -> None:
    file = tmp_path / "agents.toml"
    file.write_text(AGENTS)
    async with ToldLlama() as llama, FakePort(spec("weather")) as port:
        found = await examine_with(tmp_path, llama_url=llama.url, tool_port_url=port.url, agents_file=file)
        away = await examine_with(tmp_path, llama_url=NOWHERE, tool_port_url=NOWHERE, agents_file=file)

    assert said(Code.AGENT_UNKNOWN_TOOL, found).startswith("Agent keeper names tools that the port lacks: tide.")
    assert "tool_iterations may be lowered only" in said(Code.AGENT_LIMIT_TOO_HIGH, found)
    assert "agent keeper names 'big'" in said(Code.MODEL_UNKNOWN, found)
    # The fake's template has a switch for thinking.
    assert Code.AGENT_CANNOT_STOP_THINKING not in codes(found)
    # What nobody told is not judged.
    assert codes(away) & {Code.AGENT_UNKNOWN_TOOL, Code.MODEL_UNKNOWN} == set()


def without_a_switch(body: JsonObject) -> str:
    """Render what has been said, whatever else is asked."""
    return repr(body["messages"])


@pytest.mark.rules("L6", "G1")
async def test_an_agent_that_must_not_think_needs_a_template_with_a_switch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.cases.strict_llama.render", without_a_switch)
    file = tmp_path / "agents.toml"
    file.write_text('[agents.keeper]\nthinking = "off"\n')
    async with ToldLlama() as llama:
        found = await examine_with(tmp_path, llama_url=llama.url, agents_file=file)

    assert {Code.AGENT_CANNOT_STOP_THINKING, Code.TEMPLATE_CANNOT_STOP_THINKING} <= codes(found)


@pytest.mark.rules("D1")
async def test_settings_that_do_not_fit_the_server_or_one_another_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNKEEPER_SLOT", "3")
    async with ToldLlama() as llama:
        found = await examine_with(
            tmp_path,
            llama_url=llama.url,
            slots=3,
            model="big",
            liveness_ms=9_000,
            poll_ms=900,
            idle_grace_ms=800,
            tool_port_token="sesame-sesame",
        )

    assert {
        Code.SLOTS_TOO_MANY,
        Code.MODEL_UNKNOWN,
        Code.LIVENESS_TOO_SHORT,
        Code.POLLS_TOO_OFTEN,
        Code.WAIT_SHORTER_THAN_POLL,
        Code.SECRET_WITHOUT_PORT,
        Code.UNKNOWN_VARIABLE,
    } <= codes(found)
    assert "idle_grace_ms (800)" in said(Code.WAIT_SHORTER_THAN_POLL, found)
    assert "TURNKEEPER_SLOT." in said(Code.UNKNOWN_VARIABLE, found)
    assert "sesame" not in str(found)
