"""A turn can be followed: a span for it, below it one for each request to the model and for each call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from service.adapters.log_memory import MemoryLog
from service.core.baseline import ToolMode
from service.core.errors import ErrorKind, ModelFailure
from service.core.ids import LOCAL_OWNER
from service.core.records import OnToolLimit, Outcome
from service.core.tool_port import AnswerStatus, ToolAnswer
from service.core.trace_context import own_context, read_traceparent
from service.turns.requests import OnBusy, ToolsAsked
from tests.fakes.clock import CountingIds
from tests.fakes.house import BOUND_S, House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec
from tests.fakes.traces import Spans, attributes_of, failed, json_of, parent_id, span_id, spans_in_memory, trace_id
from tests.turns.approving import asking_port, decide, decision, until_end
from tests.turns.compacting import filled, summaries, talker
from tests.turns.handing_over import AGENTS, hand_over
from tests.written_logs import written_logs

pytestmark = pytest.mark.anyio

CALLER = read_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
UNSAMPLED = read_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")
CLOSED = ModelFailure(ErrorKind.STREAM_CLOSED, "the connection broke behind the words of a secret prompt")


@pytest.fixture
async def spans() -> AsyncGenerator[Spans]:
    async with spans_in_memory() as kept:
        yield kept


def port() -> TablePort:
    return TablePort(spec("weather"), spec("clock"))


async def test_a_turn_with_a_tool_is_an_agent_that_asks_runs_and_asks_again(spans: Spans) -> None:
    house = House(ScriptedLlama(ask_for(call("weather")), say("It rains.")), port(), tracer=spans.tracer)

    view = await house.run(await house.session(), "Weather?")
    await spans.ended("invoke_agent")

    assert spans.tree() == ["invoke_agent", "  chat", "  execute_tool weather", "  chat"]
    turn, (first, second), tool = spans.one("invoke_agent"), spans.of("chat"), spans.one("execute_tool")
    assert attributes_of(turn) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "llama.cpp",
        "gen_ai.conversation.id": view.session,
        "gen_ai.usage.input_tokens": view.usage.prompt_tokens,
        "gen_ai.usage.output_tokens": view.usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": view.usage.cached_tokens,
        "gen_ai.usage.reasoning.output_tokens": 0,
        "turnkeeper.turn.id": view.id,
        "turnkeeper.outcome": "answered",
        "turnkeeper.steps": 2,
        "turnkeeper.paused_s": 0.0,
    }
    assert (turn.kind.name, first.kind.name, tool.kind.name) == ("INTERNAL", "CLIENT", "INTERNAL")
    assert not any(failed(span) for span in spans.all)
    described = attributes_of(tool)
    assert described == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call-1",
        "turnkeeper.call": 1,
        "turnkeeper.tool.status": "result",
    }
    assert [attributes_of(span)["turnkeeper.step"] for span in (first, second)] == [1, 2]
    assert [attributes_of(span)["gen_ai.response.finish_reasons"] for span in (first, second)] == [
        ("tool_calls",),
        ("stop",),
    ]


async def test_a_request_to_the_model_tells_what_was_asked_and_what_it_cost(spans: Spans) -> None:
    house = House(
        ScriptedLlama(say("Yes.", prompt_tokens=30, cached_tokens=20, completion_tokens=2)), tracer=spans.tracer
    )
    session = await house.session(model="qwen3-4b", sampling={"temperature": 0.5, "top_k": 40, "min_p": 0.1, "seed": 7})

    await house.run(session, response_format={"type": "json_object"})

    told = attributes_of(spans.one("chat"))
    assert 0 <= told.pop("gen_ai.response.time_to_first_chunk") < BOUND_S
    assert 0 <= told.pop("turnkeeper.gate_wait_s") < BOUND_S
    assert told == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "llama.cpp",
        "gen_ai.conversation.id": session,
        "gen_ai.request.model": "qwen3-4b",
        "gen_ai.request.max_tokens": house.llama.requests[0].max_tokens,
        "gen_ai.request.stream": True,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.top_k": 40,
        "gen_ai.request.seed": 7,
        "gen_ai.output.type": "json",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.cache_read.input_tokens": 20,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.usage.reasoning.output_tokens": 0,
        "server.address": "model.test",
        "server.port": 8080,
        "turnkeeper.step": 1,
        "turnkeeper.attempt": 0,
        "turnkeeper.work": "turn",
    }
    assert spans.one("chat").name == "chat qwen3-4b"
    assert attributes_of(spans.one("invoke_agent"))["gen_ai.request.model"] == "qwen3-4b"


async def test_a_turn_hangs_below_the_span_of_its_caller(spans: Spans) -> None:
    house = House(ScriptedLlama(say("Hi.")), tracer=spans.tracer)

    await house.run(await house.session(), trace=CALLER)

    assert CALLER is not None
    turn = spans.one("invoke_agent")
    assert (trace_id(turn), parent_id(turn)) == (CALLER.trace_id, CALLER.span_id)
    assert {trace_id(span) for span in spans.all} == {CALLER.trace_id}


async def test_what_else_traces_this_process_is_no_caller_of_a_turn(spans: Spans) -> None:
    house = House(ScriptedLlama(say("Hi.")), tracer=spans.tracer)
    session = await house.session()

    with TracerProvider().get_tracer("of another library").start_as_current_span("GET /sessions"):
        view = await house.run(session)

    turn = spans.one("invoke_agent")
    assert (trace_id(turn), turn.parent) == (own_context(view.id).trace_id, None)


async def test_the_port_is_called_in_the_name_of_the_calls_span(spans: Spans) -> None:
    tools = port()
    house = House(ScriptedLlama(ask_for(call("clock")), say("Noon.")), tools, tracer=spans.tracer)

    await house.run(await house.session(), trace=CALLER)

    told = tools.calls[0].trace
    assert (told.trace_id, told.span_id) == (trace_id(spans.one("execute_tool")), span_id(spans.one("execute_tool")))
    assert told.sampled


async def test_two_turns_that_wait_for_one_another_keep_their_callers_apart(spans: Spans) -> None:
    first = say("One.", before_end=asyncio.Event())
    house = House(ScriptedLlama(first, say("Two.")), tracer=spans.tracer)
    session = await house.session()
    running = await house.start(session)
    await first.streaming.wait()
    waiting = await house.start(session, on_busy=OnBusy.QUEUE, trace=CALLER)
    assert first.before_end is not None
    first.before_end.set()

    await house.finish(session, running)
    await house.finish(session, waiting)

    assert CALLER is not None
    assert [trace_id(span) for span in spans.of("invoke_agent")] == [own_context(running).trace_id, CALLER.trace_id]


@pytest.mark.rules("L7")
async def test_each_attempt_is_a_span_and_a_failed_one_tells_its_kind_and_no_words(spans: Spans) -> None:
    house = House(ScriptedLlama(say("Half an", failure=CLOSED), say("Whole.")), tracer=spans.tracer)

    await house.run(await house.session())

    broken, good = spans.of("chat")
    assert failed(broken)
    assert attributes_of(broken)["error.type"] == "stream_closed"
    assert [attributes_of(span)["turnkeeper.attempt"] for span in (broken, good)] == [0, 1]
    assert not failed(good)
    assert "secret prompt" not in "".join(span.to_json() for span in spans.all)


async def test_a_turn_that_failed_is_an_error_of_its_kind(spans: Spans) -> None:
    house = House(ScriptedLlama(say("", failure=CLOSED), endless=True), tracer=spans.tracer)

    view = await house.run(await house.session())

    turn = spans.one("invoke_agent")
    assert view.error is not None
    assert failed(turn)
    assert (attributes_of(turn)["error.type"], attributes_of(turn)["turnkeeper.outcome"]) == (view.error.kind, "failed")


async def test_a_turn_that_came_to_a_limit_tells_which_and_is_no_error(spans: Spans) -> None:
    calls = [ask_for(call("clock", id=f"c{number}")) for number in range(3)]
    house = House(ScriptedLlama(*calls), port(), tracer=spans.tracer)

    await house.run(await house.session(), limits={"tool_iterations": 1}, on_tool_limit=OnToolLimit.STOP)

    turn = spans.one("invoke_agent")
    assert attributes_of(turn)["turnkeeper.limit"] == "tool_iterations"
    assert not failed(turn)


@pytest.mark.parametrize(
    ("answer", "status", "is_error"),
    [
        (ToolAnswer(status=AnswerStatus.FAILED, text="no power"), "failed", True),
        (ToolAnswer(status=AnswerStatus.DENIED, text="not today"), "denied", False),
    ],
)
async def test_a_call_tells_how_it_ended(spans: Spans, answer: ToolAnswer, status: str, is_error: bool) -> None:
    tools = TablePort(spec("clock"), tools={"clock": lambda _: answer})
    house = House(ScriptedLlama(ask_for(call("clock")), say("Oh.")), tools, tracer=spans.tracer)

    await house.run(await house.session())

    tool = spans.one("execute_tool")
    assert (attributes_of(tool)["turnkeeper.tool.status"], attributes_of(tool)["error.type"]) == (status, status)
    assert failed(tool) is is_error


async def test_a_call_that_the_port_never_sees_is_a_span_as_well(spans: Spans) -> None:
    house = House(
        ScriptedLlama(ask_for(call("nonsense"), call("clock", '{"city": 1}', id="b")), say("Oh.")),
        port(),
        tracer=spans.tracer,
    )

    await house.run(await house.session())

    told = {span.name: attributes_of(span)["turnkeeper.tool.status"] for span in spans.of("execute_tool")}
    assert told == {"execute_tool nonsense": "unknown_tool", "execute_tool clock": "bad_arguments"}


@pytest.mark.rules("X4")
async def test_a_call_through_another_tool_has_the_name_of_the_one_that_runs(spans: Spans) -> None:
    asked = call("call_tool", '{"name": "clock", "arguments": {}}')
    house = House(ScriptedLlama(ask_for(asked), say("Noon.")), port(), tracer=spans.tracer)

    await house.run(await house.session(tools=ToolsAsked(mode=ToolMode.DISCOVER)))

    assert [span.name for span in spans.of("execute_tool")] == ["execute_tool clock"]


@pytest.mark.rules("G2")
async def test_another_agents_turn_hangs_below_the_call_that_handed_over(spans: Spans) -> None:
    llama = ScriptedLlama(ask_for(hand_over()), say("Green tea."), say("They say: green."))
    house = House(llama, agents=AGENTS, tracer=spans.tracer)

    await house.run(await house.session(), trace=CALLER)

    assert spans.tree() == [
        "invoke_agent desk",
        "  chat",
        "  execute_tool handoff_to",
        "    invoke_agent expert",
        "      chat",
        "  chat",
    ]
    assert CALLER is not None
    assert {trace_id(span) for span in spans.all} == {CALLER.trace_id}
    assert [attributes_of(span)["gen_ai.agent.name"] for span in spans.of("invoke_agent")] == ["expert", "desk"]


@pytest.mark.rules("A1")
async def test_the_wait_for_people_is_a_span_of_its_own(spans: Spans) -> None:
    tools = asking_port()
    house = House(ScriptedLlama(ask_for(call("pay")), say("Paid.")), tools, tracer=spans.tracer)
    view = await house.run(await house.session())
    await decide(house, view, decision(view.pending[0]))

    await until_end(house, view)
    await spans.ended("invoke_agent")

    assert spans.tree() == ["invoke_agent", "  chat", "  await_approval", "  execute_tool pay", "  chat"]


async def test_a_cancelled_turn_ends_its_spans_and_tells_so(spans: Spans) -> None:
    half = say("Half", before_end=asyncio.Event())
    house = House(ScriptedLlama(half), tracer=spans.tracer)
    session = await house.session()
    turn = await house.start(session)
    await half.streaming.wait()

    await house.sessions.cancel(session, turn, LOCAL_OWNER)

    assert attributes_of(spans.one("chat"))["error.type"] == "cancelled"
    assert attributes_of(spans.one("invoke_agent"))["turnkeeper.outcome"] == "cancelled"
    assert not failed(spans.one("invoke_agent"))


@pytest.mark.rules("S4", "H8")
async def test_a_turn_that_goes_on_after_a_restart_stays_in_its_trace(spans: Spans) -> None:
    half = say("Once", before_end=asyncio.Event())
    house = House(ScriptedLlama(half), log=(log := MemoryLog()), tracer=spans.tracer)
    session = await house.session()
    turn = await house.start(session)
    await half.streaming.wait()
    await house.sessions.shut_down(0)
    ids = CountingIds()
    later = House(ScriptedLlama(say("Once upon a time.")), log=log, ids=ids, tracer=spans.tracer)

    await later.sessions.resume_unfinished()
    view = await later.finish(session, turn)

    assert view.outcome is Outcome.ANSWERED
    before, after = spans.of("invoke_agent")
    assert trace_id(before) == trace_id(after) == own_context(turn).trace_id
    assert attributes_of(before)["turnkeeper.outcome"] == "interrupted"
    assert (attributes_of(after)["turnkeeper.outcome"], attributes_of(after)["turnkeeper.resumed"]) == (
        "answered",
        True,
    )


@pytest.mark.rules("C1")
async def test_a_summary_is_a_request_of_its_own_below_the_turn(spans: Spans) -> None:
    house, session = await filled(talker(), tracer=spans.tracer)

    asked = [span for span in spans.of("chat") if attributes_of(span)["turnkeeper.work"] == "summary"]
    spent = sum(summary.usage.prompt_tokens for summary in await summaries(house, session))
    assert sum(attributes_of(span)["gen_ai.usage.input_tokens"] for span in asked) == spent > 0
    turns = {span_id(span) for span in spans.of("invoke_agent")}
    assert all(parent_id(span) in turns for span in asked)
    assert not any("turnkeeper.step" in attributes_of(span) for span in asked)


async def test_a_summary_by_hand_belongs_to_no_turn_and_to_no_trace(spans: Spans) -> None:
    house = House(ScriptedLlama(say("One."), say("Two."), say("A summary.")), tracer=spans.tracer)
    session = await house.session()
    await house.run(session, "First " * 30)
    await house.run(session, "Second " * 30)
    before = len(spans.all)

    compacted = await house.sessions.compact(session, LOCAL_OWNER)

    assert compacted.by_hand is not None
    assert len(spans.all) == before


async def test_what_a_caller_does_not_keep_is_not_kept_here_and_the_port_is_told_so(spans: Spans) -> None:
    tools = port()
    house = House(ScriptedLlama(ask_for(call("clock")), say("Noon.")), tools, tracer=spans.tracer)

    await house.run(await house.session(), trace=UNSAMPLED)

    assert spans.all == []
    assert UNSAMPLED is not None
    assert (tools.calls[0].trace.trace_id, tools.calls[0].trace.sampled) == (UNSAMPLED.trace_id, False)


async def test_of_traces_that_begin_here_only_the_share_is_kept_that_is_wanted() -> None:
    async with spans_in_memory(share=0.0) as none:
        house = House(ScriptedLlama(say("Hi."), endless=True), tracer=none.tracer)
        session = await house.session()
        await house.run(session)
        await house.run(session, trace=CALLER)

        # The caller's trace is kept, since the caller keeps it.
        assert [trace_id(span) for span in none.of("invoke_agent")] == [CALLER.trace_id if CALLER else ""]


@pytest.mark.rules("K5")
async def test_nothing_that_was_said_is_in_a_span_unless_it_is_wanted(spans: Spans) -> None:
    house = await _chatty(spans)

    assert house.llama.script == []
    everything = "".join(span.to_json() for span in spans.all)
    for word in ("PERSONA", "QUESTION", "ARGUMENT", "RESULT", "ANSWER", "THOUGHT"):
        assert word not in everything


async def test_with_content_spans_hold_prompts_answers_arguments_and_results() -> None:
    async with spans_in_memory(content=True) as spans:
        await _chatty(spans)

        first, second = spans.of("chat")
        (system,) = json_of(first, "gen_ai.system_instructions")
        assert system["content"].startswith("PERSONA")
        assert json_of(first, "gen_ai.input.messages") == [_said("user", "QUESTION")]
        assert [tool["name"] for tool in json_of(first, "gen_ai.tool.definitions")][:2] == ["weather", "clock"]
        asked = {"type": "tool_call", "id": "call-1", "name": "weather", "arguments": {"city": "ARGUMENT"}}
        assert json_of(first, "gen_ai.output.messages") == [
            {
                "role": "assistant",
                "parts": [{"type": "reasoning", "content": "THOUGHT"}, asked],
                "finish_reason": "tool_calls",
            }
        ]
        question, answer, result = json_of(second, "gen_ai.input.messages")
        assert question == _said("user", "QUESTION")
        assert answer["parts"][-1] == asked
        response = {"type": "tool_call_response", "id": "call-1", "response": "RESULT"}
        assert result == {"role": "tool", "parts": [response]}
        tool = attributes_of(spans.one("execute_tool"))
        assert tool["gen_ai.tool.call.arguments"] == '{"city": "ARGUMENT"}'
        assert tool["gen_ai.tool.call.result"] == "RESULT"
        (said,) = json_of(spans.one("invoke_agent"), "gen_ai.output.messages")
        assert said["parts"] == [{"type": "text", "content": "ANSWER"}]


async def test_a_turns_line_in_the_log_names_the_trace_that_the_tool_port_is_told(spans: Spans) -> None:
    told: list[str] = []
    with written_logs() as log:
        for tracer, trace in ((spans.tracer, CALLER), (None, CALLER), (None, None)):
            tools = port()
            house = House(ScriptedLlama(ask_for(call("weather")), say("Rain.")), tools, tracer=tracer)
            await house.run(await house.session(), trace=trace)
            told += [request.trace.trace_id for request in tools.calls]

    assert CALLER is not None
    assert [line["trace_id"] for line in log.of("turn.ended")] == told
    assert told[:2] == [CALLER.trace_id, CALLER.trace_id]
    assert told[2] not in told[:2]


async def test_without_traces_the_port_is_called_in_the_callers_name_or_in_the_turns_own() -> None:
    tools = port()
    script = [play for _ in range(2) for play in (ask_for(call("clock")), say("Noon."))]
    house = House(ScriptedLlama(*script), tools)
    session = await house.session()

    await house.run(session, trace=CALLER)
    alone = await house.run(session)

    assert [asked.trace for asked in tools.calls] == [CALLER, own_context(alone.id)]


async def _chatty(spans: Spans) -> House:
    asking = Play(calls=(call("weather", '{"city": "ARGUMENT"}'),), reasoning="THOUGHT")
    llama = ScriptedLlama(asking, say("ANSWER"))
    tools = TablePort(
        spec("weather"),
        spec("clock"),
        tools={"weather": lambda _: ToolAnswer(status=AnswerStatus.RESULT, text="RESULT")},
    )
    house = House(llama, tools, tracer=spans.tracer)
    await house.run(await house.session(system="PERSONA"), "QUESTION")
    return house


def _said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}
