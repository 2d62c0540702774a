"""What /readyz is told of each part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from service.access.model_server import FACTS_AGE_S
from service.adapters.log_memory import MemoryLog
from service.core.errors import ErrorKind, ModelFailure, StoreFailure, ToolPortFailure
from service.core.records import Outcome
from service.turns.readiness import Check
from tests.fakes.house import House
from tests.fakes.llama import GONE, ScriptedLlama, say
from tests.fakes.tool_port import TablePort, spec

pytestmark = pytest.mark.anyio


async def checks(house: House) -> dict[str, Check]:
    return {check.name: check for check in await house.turns.readiness.check()}


async def test_all_parts_answer() -> None:
    found = await checks(House(ScriptedLlama(), TablePort(spec("a"))))
    assert {name: check.ok for name, check in found.items()} == {"store": True, "llama_server": True, "tool_port": True}
    assert found["llama_server"].message.startswith("2 slots of 4096 tokens.")
    assert found["tool_port"].message == "1 tools"


async def test_a_server_that_is_away_and_a_port_that_is_away_are_named() -> None:
    llama, port = ScriptedLlama(), TablePort()
    llama.away = GONE
    port.away = ToolPortFailure("connection refused")
    found = await checks(House(llama, port))
    assert (found["llama_server"].ok, found["llama_server"].message) == (False, "llama-server is away")
    assert (found["tool_port"].ok, found["tool_port"].message) == (False, "connection refused")


async def test_a_broken_store_is_named() -> None:
    class Broken(MemoryLog):
        async def check(self) -> None:
            raise StoreFailure("no disk")

    found = await checks(House(ScriptedLlama(), log=Broken()))
    assert (found["store"].ok, found["store"].message) == (False, "no disk")


@pytest.mark.rules("X3")
async def test_tools_that_were_left_out_are_named_with_the_reason() -> None:
    found = await checks(House(ScriptedLlama(), TablePort(spec("ok"), spec("not ok"))))
    assert found["tool_port"].ok
    assert "not ok" in found["tool_port"].message


async def test_without_a_port_there_is_nothing_to_miss() -> None:
    assert (await checks(House(ScriptedLlama())))["tool_port"].ok


async def test_the_servers_facts_are_asked_again_after_a_while_and_kept_when_it_is_away() -> None:
    llama = ScriptedLlama(slots=2)
    house = House(llama)
    await checks(house)
    llama.away = ModelFailure(ErrorKind.CONNECT, "away")
    house.clock.seconds += FACTS_AGE_S

    session = await house.session()

    assert session
    assert house.turns.gate.capacity == 2
    assert (await house.turns.tools.listing()).specs == ()


@pytest.mark.rules("L10")
@pytest.mark.parametrize(
    ("trait", "port", "says"),
    [
        ({}, TablePort(spec("a")), ""),
        ({"tools": False}, None, ""),
        ({"tools": False}, TablePort(spec("a")), "does not show tools to the model"),
        ({"parallel": False}, TablePort(spec("a")), "one by one"),
        ({"keeps_turns": False}, None, "each new message evaluates the last turn again"),
        ({"system_role": False}, None, "first user message"),
        ({"thinking_off": "none"}, None, "no switch for thinking"),
    ],
    ids=("all", "no tools", "tools in vain", "one by one", "forgets turns", "no system role", "no switch for thought"),
)
async def test_what_the_template_can_not_do_is_told_and_keeps_nobody_from_being_served(
    trait: dict[str, Any], port: TablePort | None, says: str
) -> None:
    llama = ScriptedLlama()
    llama.server = replace(llama.server, template=replace(llama.server.template, **{"thinking_off": "tail", **trait}))

    check = (await checks(House(llama, port)))["llama_server"]

    assert check.ok
    assert check.message.removeprefix("2 slots of 4096 tokens.").count(".") == (1 if says else 0)
    assert says in check.message


@pytest.mark.rules("L10")
async def test_another_template_under_a_live_session_is_logged_and_the_session_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    llama = ScriptedLlama(say("One."), say("Two."))
    house = House(llama)
    session = await house.session()
    await house.run(session)
    llama.server = replace(llama.server, template=replace(llama.server.template, hash="template-2"))
    house.clock.seconds += FACTS_AGE_S

    turn = await house.run(session)

    assert (turn.outcome, turn.content) == (Outcome.ANSWERED, "Two.")
    assert capsys.readouterr().out.count("llama_server.template_changed") == 1
