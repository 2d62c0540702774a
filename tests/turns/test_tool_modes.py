"""All tools in the prompt, or found by words: the session's choice, or its tools' size (X3, X4)."""

from __future__ import annotations

import json

import pytest

from service.core.baseline import ToolMode
from service.core.errors import ProblemCode, RequestRefused, UpstreamHttp
from service.core.ids import LOCAL_OWNER, SessionId
from service.core.records import Assistant, ResultStatus, ToolCallStarted, ToolResult
from service.core.views import SessionView
from service.turns import spec_probe
from service.turns.requests import ToolsAsked
from tests.fakes.clock import CountingIds
from tests.fakes.house import House
from tests.fakes.llama import GONE, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X3")]

DISCOVER = ToolsAsked(mode=ToolMode.DISCOVER)


def port_of(count: int, **tools: object) -> TablePort:
    listed = [spec(f"tool_{number}", **tools) for number in range(count - 1)]
    return TablePort(*listed, spec("weather", **{**tools, "description": "Tells the weather of a city."}))


async def view(house: House, **asked: object) -> SessionView:
    return await house.sessions.view(await house.session(**asked), LOCAL_OWNER)


async def results(house: House, session: SessionId) -> list[ToolResult]:
    return [record for record in await house.records(session) if isinstance(record, ToolResult)]


def shown(house: House) -> list[list[str]]:
    return [[tool["function"]["name"] for tool in request.tools] for request in house.llama.requests]


@pytest.mark.parametrize(("count", "mode"), [(5, ToolMode.DIRECT), (200, ToolMode.DISCOVER)])
async def test_many_tools_are_discovered_and_few_are_shown(count: int, mode: ToolMode) -> None:
    tools = (await view(House(ScriptedLlama(), port_of(count)))).baseline.tools
    assert (tools.mode, len(tools.names)) == (mode, count)
    # Of hundreds of tools the prompt holds no more than of a few.
    assert 0 < tools.tokens < 1000


async def test_a_session_may_ask_for_one_way_or_the_other() -> None:
    many, few = House(ScriptedLlama(), port_of(200)), House(ScriptedLlama(), port_of(2))
    assert (await view(many, tools=ToolsAsked(mode=ToolMode.DIRECT))).baseline.tools.mode is ToolMode.DIRECT
    assert (await view(few, tools=DISCOVER)).baseline.tools.mode is ToolMode.DISCOVER


async def test_the_mode_is_chosen_by_an_estimate_while_the_server_is_away() -> None:
    llama = ScriptedLlama()
    llama.away = GONE
    tools = (await view(House(llama, port_of(200)))).baseline.tools
    assert tools.mode is ToolMode.DISCOVER
    assert 0 < tools.tokens < 1000


@pytest.mark.rules("X4", "P2", "P3")
async def test_a_tool_is_found_and_called_while_the_prompt_keeps_its_tools() -> None:
    find = call("find_tool", '{"query": "weather in a city"}', id="a")
    use = call("call_tool", '{"name": "weather", "arguments": {"city": "Oslo"}}', id="b")
    port = port_of(200)
    house = House(ScriptedLlama(ask_for(find), ask_for(use), say("It rains.")), port)
    session = await house.session()

    turn = await house.run(session, "What is the weather in Oslo?")

    assert turn.content == "It rains."
    assert shown(house) == [["find_tool", "call_tool", "read_result"]] * 3
    (request,) = port.calls
    assert (request.tool, request.arguments, request.call) == ("weather", {"city": "Oslo"}, 2)
    found, used = await results(house, session)
    assert (found.name, json.loads(found.content)[0]["name"]) == ("find_tool", "weather")
    assert (used.name, used.status, used.content) == ("weather", ResultStatus.OK, "weather says ok")


@pytest.mark.rules("X4", "P4")
async def test_people_see_the_tool_inside_and_the_model_its_own_call() -> None:
    use = call("call_tool", '{"name": "weather", "arguments": {"city": "Oslo"}}', id="b")
    house = House(ScriptedLlama(ask_for(use), say("It rains.")), port_of(3))
    session = await house.session(tools=DISCOVER)
    await house.run(session)

    records = await house.records(session)
    said = next(record for record in records if isinstance(record, Assistant))
    started = next(record for record in records if isinstance(record, ToolCallStarted))
    assert (said.tool_calls[0].name, said.tool_calls[0].arguments) == ("call_tool", use.arguments)
    assert (started.name, started.arguments) == ("weather", '{"city":"Oslo"}')
    asked, answered = house.llama.requests[1].messages[-2:]
    assert asked["tool_calls"][0]["function"] == {"name": "call_tool", "arguments": use.arguments}
    assert (answered["name"], answered["tool_call_id"]) == ("call_tool", "b")


@pytest.mark.rules("X4", "P6", "X6")
async def test_a_tool_inside_keeps_its_labels_fence_and_flags() -> None:
    use = call("call_tool", '{"name": "weather", "arguments": {}}')
    port = TablePort(spec("weather", untrusted=True, **{"class": "internal"}))
    house = House(ScriptedLlama(ask_for(use), say("It rains.")), port, ids=CountingIds(["f" * 16]))
    session = await house.session(tools=DISCOVER)
    await house.run(session)

    (used,) = await results(house, session)
    assert (used.untrusted, used.data_class, used.fence) == (True, "internal", "f" * 16)


@pytest.mark.rules("A1", "X4")
async def test_a_tool_that_asks_for_approval_does_not_run_unasked_through_call_tool() -> None:
    port = TablePort(spec("pay", needs_approval=True))
    house = House(ScriptedLlama(ask_for(call("call_tool", '{"name": "pay", "arguments": {}}')), say("No.")), port)
    session = await house.session(tools=DISCOVER)
    view = await house.run(session)
    assert port.calls == []
    assert [(asked.name, asked.arguments) for asked in view.pending] == [("pay", "{}")]


async def test_a_session_keeps_its_tools_and_their_way_over_a_restart() -> None:
    house = House(ScriptedLlama(say("One.")), port_of(3))
    session = await house.session(tools=DISCOVER)
    await house.run(session)
    assert house.port is not None
    house.port.listed = []
    again = House(ScriptedLlama(say("Two.")), TablePort(), log=house.log)
    await again.run(session)
    assert shown(again) == shown(house)


async def test_a_session_without_tools_has_none_of_ours_either() -> None:
    house = House(ScriptedLlama(say("One.")), port_of(3))
    tools = (await view(house, tools=ToolsAsked(names=(), mode=ToolMode.DISCOVER))).baseline.tools
    assert (tools.hash, tools.names, tools.tokens) == (None, (), 0)


async def test_a_schema_that_the_model_server_refuses_is_left_out_and_said() -> None:
    llama = ScriptedLlama(say("One."))
    llama.refused_tools = {"tool_1", "tool_6"}
    house = House(llama, port_of(9))
    session = await house.session()
    await house.run(session)

    listing = await house.turns.tools.listing()
    reason = "llama-server refuses it: Unable to generate parser for this template."
    assert [(tool.name, tool.reason) for tool in listing.left_out] == [("tool_1", reason), ("tool_6", reason)]
    assert not {"tool_1", "tool_6"} & set(shown(house)[0])
    assert len(listing.specs) == 7
    tool_port = next(check for check in await house.turns.readiness.check() if check.name == "tool_port")
    assert f"left out: tool_1 ({reason})" in tool_port.message


async def test_a_list_is_tried_once_and_again_when_another_server_may_be_there() -> None:
    house = House(ScriptedLlama(), port_of(9))
    await house.session()
    asked = house.llama.counts
    await house.session()
    assert house.llama.counts == asked
    house.turns.server.was_away()
    await house.session()
    assert house.llama.counts == 2 * asked


async def test_a_port_that_makes_up_new_tools_each_time_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec_probe, "LISTS_KEPT", 1)
    house = House(ScriptedLlama(), port_of(2))
    await house.session()
    asked = house.llama.counts
    assert house.port is not None
    first, house.port.listed = house.port.listed, [spec("other")]
    await house.session()
    house.port.listed = first
    await house.session()
    assert house.llama.counts == 3 * asked


async def test_a_server_without_token_counts_refuses_no_tool() -> None:
    class Old(ScriptedLlama):
        async def count_tokens(self, request: object) -> int:
            raise UpstreamHttp(404, "no such route")

    listing = await House(Old(), port_of(3)).turns.tools.listing()
    assert (len(listing.specs), listing.left_out) == (3, ())


async def test_an_unknown_name_among_the_tools_is_refused_in_each_mode() -> None:
    house = House(ScriptedLlama(), port_of(3))
    with pytest.raises(RequestRefused) as caught:
        await house.session(tools=ToolsAsked(names=("nothing",), mode=ToolMode.DISCOVER))
    assert caught.value.code is ProblemCode.VALIDATION


@pytest.mark.parametrize(("tokens", "mode"), [(4096, ToolMode.DIRECT), (4097, ToolMode.DISCOVER)])
async def test_auto_discovers_above_its_limit(tokens: int, mode: ToolMode) -> None:
    class Counting(ScriptedLlama):
        async def count_tokens(self, request: object) -> int:
            return 10 + (tokens if getattr(request, "tools", ()) else 0)

    assert (await view(House(Counting(), port_of(3)))).baseline.tools.mode is mode
