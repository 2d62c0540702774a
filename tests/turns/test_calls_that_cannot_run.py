"""Arguments that are none and tools that aren't there become results, also through call_tool (T10, X4)."""

from __future__ import annotations

import json

import pytest

from service.core.baseline import ToolMode
from service.core.completion_events import ModelCall
from service.core.records import Outcome, ResultStatus
from service.turns.requests import ToolsAsked
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec
from tests.turns.turn_facts import results_of

pytestmark = pytest.mark.anyio


@pytest.mark.rules("T10")
async def test_bad_arguments_of_a_megabyte_are_echoed_in_bounds_and_the_prompt_stays_small() -> None:
    noise = "".join(chr(33 + number % 90) for number in range(1_000_000))
    llama = ScriptedLlama(ask_for(call("t", noise)), say("I see."))
    house = House(llama, TablePort(spec("dump"), spec("t")))
    session = await house.session()

    view = await house.run(session)

    assert view.outcome is Outcome.ANSWERED
    assert len(json.dumps(llama.requests[1].messages)) < 3000


@pytest.mark.rules("T10", "X4")
@pytest.mark.parametrize("mode", ToolMode)
@pytest.mark.parametrize("arguments", ["", "{", "null", "[]", '"{}"', "x" * 1_000_000, '{"city": "' + "x" * 1_000_000])
async def test_noise_through_call_tool_is_a_result_with_a_bounded_echo(mode: ToolMode, arguments: str) -> None:
    wrapped = [arguments, f'{{"name": "t", "arguments": {json.dumps(arguments)}}}']
    llama = ScriptedLlama(*[ask_for(call("call_tool", raw)) for raw in wrapped], say("I see."))
    port = TablePort(spec("dump"), spec("t"))
    house = House(llama, port)
    session = await house.session(tools=ToolsAsked(mode=mode))

    view = await house.run(session)

    first, second = await results_of(house, session)
    assert (view.outcome, port.calls) == (Outcome.ANSWERED, [])
    assert first.status is ResultStatus.BAD_ARGUMENTS
    assert second.status is ResultStatus.BAD_ARGUMENTS
    assert max(len(first.content), len(second.content)) < 1000


@pytest.mark.rules("T10", "X4")
@pytest.mark.parametrize(
    ("mode", "called"),
    [
        (ToolMode.DIRECT, call("dumb")),
        (ToolMode.DISCOVER, call("dumb")),
        (ToolMode.DISCOVER, call("call_tool", '{"name": "dumb", "arguments": {}}')),
    ],
)
async def test_an_unknown_tool_is_told_which_there_are_and_the_turn_ends_with_text(
    mode: ToolMode, called: ModelCall
) -> None:
    house = House(ScriptedLlama(ask_for(called), say("I see.")), TablePort(spec("dump"), spec("t")))
    session = await house.session(tools=ToolsAsked(mode=mode))

    view = await house.run(session)

    (told,) = await results_of(house, session)
    assert (view.outcome, view.content, told.status) == (Outcome.ANSWERED, "I see.", ResultStatus.UNKNOWN_TOOL)
    assert told.content.startswith('There is no tool named "dumb". The tools are: ')
    assert ("dump" if mode is ToolMode.DIRECT else "find_tool") in told.content


@pytest.mark.rules("T10", "X4")
async def test_a_call_tool_within_a_call_tool_does_not_take_the_turn_down() -> None:
    nested = call("call_tool", '{"name": "call_tool", "arguments": {"name": "dump", "arguments": {}}}')
    house = House(ScriptedLlama(ask_for(nested), say("I see.")), TablePort(spec("dump"), spec("t")))
    session = await house.session(tools=ToolsAsked(mode=ToolMode.DISCOVER))

    view = await house.run(session)

    (told,) = await results_of(house, session)
    assert (view.outcome, told.status) == (Outcome.ANSWERED, ResultStatus.BAD_ARGUMENTS)
