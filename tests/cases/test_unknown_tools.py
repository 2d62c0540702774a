"""A tool that isn't there ends no run: the result names those that are (case 17)."""

from __future__ import annotations

import pytest

from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import Start, side_by_side
from tests.fakes.tool_port import spec

pytestmark = [pytest.mark.anyio, pytest.mark.cases(17), pytest.mark.rules("T10", "X4")]

NAMES = {
    "another": "get_time",
    "nothing": "",
    "white space": " ",
    "another case": "Clock",
    "white space behind": "clock ",
    "a namespace": "functions.clock",
    "a line end": "clock\n",
    "odd characters": "cl\u2028o\u202eck\0",
    "a call in words": 'clock(city="Rome")',
    "a tool of our own that this session has not": "find_tool",
    "a tool of our own that nobody has yet": "handoff_to",
    "a name of a hundred kilobytes": "clock" * 20_000,
}


async def test_the_result_names_the_tools_there_are_and_the_turn_ends_with_text(
    start: Start, subtests: pytest.Subtests
) -> None:
    llama, port = StrictLlama(), FakePort(spec("clock"), spec("calendar"))
    service = await start(llama, port)

    async def call(kind: str) -> tuple[JsonObject, list[JsonObject]]:
        llama.play(kind, ask_for(Call(name=NAMES[kind], id="one"), Call(name="clock", id="two")), say("It is noon."))
        session = await service.session()
        turn = await service.turn(session, kind)
        return turn, sorted(await service.records(session, "tool_result"), key=lambda result: result["call"])

    for kind, run in (await side_by_side({kind: call(kind) for kind in NAMES})).items():
        with subtests.test(kind):
            turn, (unknown, known) = run.result()

            assert (turn["outcome"], turn["content"]) == ("answered", "It is noon.")
            assert (unknown["status"], known["status"]) == ("unknown_tool", "ok")
            assert "The tools are: clock, calendar, read_result." in unknown["content"]
            assert len(unknown["content"]) < 1000
    assert {call.tool for call in port.calls} == {"clock"}


async def test_through_call_tool_the_way_to_find_one_is_named(start: Start, subtests: pytest.Subtests) -> None:
    llama, port = StrictLlama(), FakePort(spec("clock"), spec("calendar"))
    service = await start(llama, port)
    for arguments in ('{"name":"get_time","arguments":{}}', '{"name":"","arguments":"{}"}'):
        with subtests.test(arguments):
            llama.play(arguments, ask_for(Call(name="call_tool", arguments=arguments)), say("It is noon."))
            session = await service.session(tools={"mode": "discover"})
            turn = await service.turn(session, arguments)
            [result] = await service.records(session, "tool_result")

            assert (turn["outcome"], result["status"]) == ("answered", "unknown_tool")
            assert "The tools are: find_tool, call_tool, read_result." in result["content"]
    assert port.calls == []


async def test_of_very_many_tools_the_first_are_named(start: Start) -> None:
    llama, port = (
        StrictLlama(ask_for(Call(name="nope")), say("Well.")),
        FakePort(*(spec(f"tool_{n}") for n in range(60))),
    )
    service = await start(llama, port)
    session = await service.session(tools={"mode": "direct"})
    turn = await service.turn(session)
    [result] = await service.records(session, "tool_result")

    assert turn["outcome"] == "answered"
    assert "tool_0, tool_1" in result["content"]
    assert "and 11 more" in result["content"]
