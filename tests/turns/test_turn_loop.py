"""The turn loop over a scripted model and a table of tools (T1 to T6, T8, T10, T11, T14)."""

from __future__ import annotations

import asyncio

import pytest

from service.core.baseline import Limits
from service.core.completion_events import ModelCall
from service.core.errors import ErrorKind, ModelFailure
from service.core.records import (
    Assistant,
    Limit,
    OnToolLimit,
    Outcome,
    ResultStatus,
    StepUsage,
    ToolCallStarted,
    ToolChoice,
    ToolResult,
    TurnFinished,
    User,
)
from service.core.tool_port import ToolAnswer, ToolRequest
from service.core.usage import UsageTotals
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, result, spec

pytestmark = pytest.mark.anyio


async def types(house: House, session: str) -> list[str]:
    return [record.type for record in await house.records(session)]  # pyright: ignore[reportArgumentType]


@pytest.mark.rules("T1", "T2", "T3", "T4")
async def test_a_message_is_answered_with_text() -> None:
    house = House(ScriptedLlama(say("Good day to you.")))
    session = await house.session()

    view = await house.run(session, "Say hello.")

    assert (view.outcome, view.content, view.steps) == (Outcome.ANSWERED, "Good day to you.", 1)
    assert await types(house, session) == ["session_created", "user", "assistant", "usage", "turn_finished"]


@pytest.mark.rules("T2", "P1")
async def test_the_model_gets_the_whole_conversation() -> None:
    llama = ScriptedLlama(say("One."), say("Two."))
    house = House(llama)
    session = await house.session(system="Be brief.")

    await house.run(session, "First")
    await house.run(session, "Second")

    assert list(llama.requests[1].messages) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "First"},
        {"role": "assistant", "content": "One."},
        {"role": "user", "content": "Second"},
    ]


@pytest.mark.rules("T6", "P4")
async def test_a_tool_call_runs_and_its_result_goes_back() -> None:
    llama = ScriptedLlama(ask_for(call("weather", '{"city": "Paris"}', id="abc")), say("Sunny."))
    port = TablePort(spec("weather"), tools={"weather": lambda request: result("18 degrees")})
    house = House(llama, port)
    session = await house.session()

    view = await house.run(session, "Weather?")

    assert (view.outcome, view.content, view.steps) == (Outcome.ANSWERED, "Sunny.", 2)
    assert [request.arguments for request in port.calls] == [{"city": "Paris"}]
    assert list(llama.requests[1].messages)[-2:] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "id": "abc",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city": "Paris"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "abc", "name": "weather", "content": "18 degrees"},
    ]


@pytest.mark.rules("T6")
async def test_a_call_is_in_the_log_before_it_is_sent() -> None:
    port = TablePort(spec("slow"))
    port.hold = asyncio.Event()
    house = House(ScriptedLlama(ask_for(call("slow")), say("Done.")), port)
    session = await house.session()
    turn = await house.start(session)

    await port.arrived.wait()
    before_the_answer = await types(house, session)
    port.hold.set()
    await house.finish(session, turn)

    assert before_the_answer[-1] == "tool_call_started"


@pytest.mark.rules("T8")
async def test_calls_of_one_batch_run_at_the_same_time_within_a_bound() -> None:
    batch = ask_for(*(call("slow", f'{{"city": "{number}"}}', id=f"id{number}") for number in range(6)))
    port = TablePort(spec("slow"))
    house = House(ScriptedLlama(batch, say("Done.")), port)
    session = await house.session()

    await house.run(session)

    assert len(port.calls) == 6
    assert port.most_in_flight == 4


@pytest.mark.rules("T8", "P4")
async def test_results_are_kept_as_they_arrive_and_shown_in_call_order() -> None:
    first_may_end = asyncio.Event()

    class OrderedPort(TablePort):
        async def call(self, request: ToolRequest) -> ToolAnswer:
            if request.tool == "first":
                await first_may_end.wait()
            else:
                first_may_end.set()
            return result(f"{request.tool} is done")

    llama = ScriptedLlama(ask_for(call("first", id="a"), call("second", id="b")), say("Done."))
    house = House(llama, OrderedPort(spec("first"), spec("second")))
    session = await house.session()

    await house.run(session)

    kept = [record.name for record in await house.records(session) if isinstance(record, ToolResult)]
    shown = [message["name"] for message in llama.requests[1].messages if message["role"] == "tool"]
    assert (kept, shown) == (["second", "first"], ["first", "second"])


@pytest.mark.rules("T10")
@pytest.mark.parametrize(
    "arguments", ["", "{", "null", "[]", '{"city": 5}', '{"city": "a", "city": "b"}', "x" * 1_000_000]
)
async def test_bad_arguments_become_a_result_and_the_turn_goes_on(arguments: str) -> None:
    llama = ScriptedLlama(ask_for(call("weather", arguments)), say("I see."))
    port = TablePort(spec("weather"))
    house = House(llama, port)
    session = await house.session()

    view = await house.run(session)

    (closed,) = [record for record in await house.records(session) if isinstance(record, ToolResult)]
    assert (view.outcome, closed.status) == (Outcome.ANSWERED, ResultStatus.BAD_ARGUMENTS)
    assert port.calls == []
    assert len(closed.content) < 2000


@pytest.mark.rules("T10")
async def test_an_unknown_tool_is_answered_with_the_tools_there_are() -> None:
    house = House(ScriptedLlama(ask_for(call("wether")), say("I see.")), TablePort(spec("weather")))
    session = await house.session()

    view = await house.run(session)

    (closed,) = [record for record in await house.records(session) if isinstance(record, ToolResult)]
    assert (view.outcome, closed.status) == (Outcome.ANSWERED, ResultStatus.UNKNOWN_TOOL)
    assert "weather" in closed.content


@pytest.mark.rules("T5")
@pytest.mark.parametrize(
    ("batches", "outcome"), [(1, Outcome.ANSWERED), (2, Outcome.ANSWERED), (3, Outcome.TURN_LIMIT)]
)
async def test_the_batch_behind_the_last_allowed_one_does_not_run(batches: int, outcome: Outcome) -> None:
    script = [ask_for(call("weather", f'{{"city": "{number}"}}', id=f"i{number}")) for number in range(batches)]
    port = TablePort(spec("weather"))
    house = House(ScriptedLlama(*script, say("Done.")), port, limits=Limits(tool_iterations=2))
    session = await house.session()

    view = await house.run(session)

    assert (view.outcome, len(port.calls)) == (outcome, min(batches, 2))
    if outcome is Outcome.TURN_LIMIT:
        closed = [record for record in await house.records(session) if isinstance(record, ToolResult)][-1]
        assert view.limit is Limit.TOOL_ITERATIONS
        assert (closed.status, "tool_iterations" in closed.content) == (ResultStatus.NOT_RUN, True)


@pytest.mark.rules("T5", "P3")
async def test_conclude_asks_for_an_answer_without_calls_behind_the_last_batch() -> None:
    llama = ScriptedLlama(ask_for(call("weather")), say("Sunny, I think."))
    house = House(llama, TablePort(spec("weather")))
    session = await house.session()

    view = await house.run(
        session,
        tool_choice=ToolChoice.REQUIRED,
        on_tool_limit=OnToolLimit.CONCLUDE,
        limits={"tool_iterations": 1},
    )

    assert [request.tool_choice for request in llama.requests] == [ToolChoice.REQUIRED, ToolChoice.NONE]
    assert llama.requests[0].tools == llama.requests[1].tools != ()
    assert (view.outcome, view.limit, view.content) == (Outcome.ANSWERED, Limit.TOOL_ITERATIONS, "Sunny, I think.")


@pytest.mark.rules("T5")
async def test_calls_that_come_although_the_turn_concludes_are_dropped() -> None:
    llama = ScriptedLlama(ask_for(call("weather")), ask_for(call("weather"), content="So far: sunny."))
    port = TablePort(spec("weather"))
    house = House(llama, port)
    session = await house.session()

    view = await house.run(session, on_tool_limit=OnToolLimit.CONCLUDE, limits={"tool_iterations": 1})

    spoken = [record for record in await house.records(session) if isinstance(record, Assistant)][-1]
    assert (view.outcome, view.limit, view.content) == (Outcome.ANSWERED, Limit.TOOL_ITERATIONS, "So far: sunny.")
    assert (len(spoken.cut_calls), spoken.tool_calls, len(port.calls)) == (1, (), 1)


@pytest.mark.rules("T5")
async def test_a_concluding_step_with_only_calls_ends_at_the_limit() -> None:
    llama = ScriptedLlama(ask_for(call("weather")), ask_for(call("weather")))
    house = House(llama, TablePort(spec("weather")))
    session = await house.session()

    view = await house.run(session, on_tool_limit=OnToolLimit.CONCLUDE, limits={"tool_iterations": 1})

    assert (view.outcome, view.limit, view.content) == (Outcome.TURN_LIMIT, Limit.TOOL_ITERATIONS, None)


@pytest.mark.rules("P3")
async def test_required_holds_for_the_first_step_only() -> None:
    llama = ScriptedLlama(ask_for(call("weather")), say("Sunny."))
    house = House(llama, TablePort(spec("weather")))
    session = await house.session()

    await house.run(session, tool_choice=ToolChoice.REQUIRED)

    assert [request.tool_choice for request in llama.requests] == [ToolChoice.REQUIRED, ToolChoice.AUTO]


@pytest.mark.rules("T4")
@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_a_cut_call_never_runs_and_is_never_shown(reason: str) -> None:
    cut = Play(calls=(ModelCall(id="a", name="weather", arguments='{"city": "Pa'),), finish_reason=reason)
    llama = ScriptedLlama(cut, say("Again."))
    port = TablePort(spec("weather"))
    house = House(llama, port)
    session = await house.session()

    view = await house.run(session)
    await house.run(session, "Once more")

    spoken = next(record for record in await house.records(session) if isinstance(record, Assistant))
    assert (view.outcome, view.limit, port.calls) == (Outcome.TURN_LIMIT, Limit.MAX_TOKENS, [])
    assert [cut.name for cut in spoken.cut_calls] == ["weather"]
    assert all("tool_calls" not in message for message in llama.requests[1].messages)


@pytest.mark.rules("T4")
async def test_a_cut_text_is_an_answer_and_says_so() -> None:
    house = House(ScriptedLlama(say("It was a dark and", finish_reason="length")))
    session = await house.session()

    view = await house.run(session)

    assert (view.outcome, view.truncated, view.content) == (Outcome.ANSWERED, True, "It was a dark and")


@pytest.mark.rules("T4")
async def test_calls_under_an_unknown_finish_reason_run() -> None:
    odd = Play(calls=(call("weather"),), finish_reason="whatever")
    port = TablePort(spec("weather"))
    house = House(ScriptedLlama(odd, say("Sunny.")), port)
    session = await house.session()

    view = await house.run(session)

    assert (view.outcome, len(port.calls)) == (Outcome.ANSWERED, 1)


@pytest.mark.rules("T4")
async def test_a_context_that_fills_up_before_an_answer_ends_the_turn_as_full() -> None:
    thought = Play(reasoning="hm hm hm", finish_reason="length", prompt_tokens=4000, completion_tokens=96)
    house = House(ScriptedLlama(thought, say("Shorter now.")))
    session = await house.session()

    view = await house.run(session)
    after = await house.run(session, "Try again")

    assert view.outcome is Outcome.SESSION_FULL
    assert view.error is not None
    assert view.error.kind is ErrorKind.CONTEXT_FULL
    assert after.outcome is Outcome.ANSWERED


@pytest.mark.rules("T11")
async def test_an_empty_answer_is_asked_for_once_more_and_warmer() -> None:
    llama = ScriptedLlama(say("  "), say("Here I am."))
    house = House(llama)
    session = await house.session(sampling={"temperature": 0, "seed": 7})

    view = await house.run(session)

    assert (view.outcome, view.content) == (Outcome.ANSWERED, "Here I am.")
    assert await types(house, session) == [
        "session_created",
        "user",
        "usage",
        "attempt",
        "assistant",
        "usage",
        "turn_finished",
    ]
    assert llama.requests[1].sampling["temperature"] >= 0.7
    assert llama.requests[1].sampling["seed"] != 7


@pytest.mark.rules("T11")
async def test_a_model_that_is_always_empty_fails_the_turn_and_leaves_no_empty_message() -> None:
    llama = ScriptedLlama(say(""), say(""), say("Back again."))
    house = House(llama)
    session = await house.session()

    view = await house.run(session)
    after = await house.run(session, "Still there?")

    assert view.outcome is Outcome.FAILED
    assert view.error is not None
    assert view.error.kind is ErrorKind.EMPTY_ANSWER
    assert after.outcome is Outcome.ANSWERED
    assert all(message["content"] for message in llama.requests[2].messages)


@pytest.mark.rules("T11")
async def test_after_a_thought_without_an_answer_little_thought_is_left() -> None:
    llama = ScriptedLlama(Play(reasoning="hm hm"), say("Yes."))
    house = House(llama)
    session = await house.session()

    await house.run(session)

    assert llama.requests[1].thinking_budget_tokens == 16


@pytest.mark.rules("T14")
async def test_usage_sums_over_completions_discarded_ones_too() -> None:
    house = House(ScriptedLlama(say(""), ask_for(call("weather")), say("Sunny.")), TablePort(spec("weather")))
    session = await house.session()

    view = await house.run(session)
    await_end = await house.records(session)

    kept = [record for record in await_end if isinstance(record, StepUsage)]
    end = await_end[-1]
    assert isinstance(end, TurnFinished)
    assert view.usage == end.totals.usage
    assert view.usage == UsageTotals(
        prompt_tokens=sum(usage.prompt_tokens for usage in kept),
        cached_tokens=sum(usage.cached_tokens for usage in kept),
        completion_tokens=sum(usage.completion_tokens for usage in kept),
        reasoning_tokens=0,
        completions=3,
        tool_calls=1,
    )


@pytest.mark.rules("T14", "T6")
async def test_call_numbers_and_sums_go_on_over_turns() -> None:
    script = [ask_for(call("weather")), say("One."), ask_for(call("weather")), say("Two.")]
    house = House(ScriptedLlama(*script), TablePort(spec("weather")))
    session = await house.session()

    first = await house.run(session)
    second = await house.run(session)

    records = await house.records(session)
    end = records[-1]
    assert [record.call for record in records if isinstance(record, ToolCallStarted)] == [1, 2]
    assert isinstance(end, TurnFinished)
    assert end.totals.usage == first.usage + second.usage
    assert end.totals.next_call == 3


@pytest.mark.rules("T13", "P4")
async def test_a_failed_turn_names_its_reason_and_the_session_takes_the_next_one() -> None:
    gone = ModelFailure(ErrorKind.PROTOCOL, "the stream is no stream")
    llama = ScriptedLlama(say("Half an ans", failure=gone), say("Whole answer."))
    house = House(llama)
    session = await house.session()

    view = await house.run(session)
    after = await house.run(session, "Again, please")

    assert (view.outcome, view.content) == (Outcome.FAILED, "Half an ans")
    assert view.error is not None
    assert (view.error.kind, view.error.message) == (ErrorKind.PROTOCOL, "the stream is no stream")
    assert after.outcome is Outcome.ANSWERED
    assert [message["role"] for message in llama.requests[1].messages] == ["user", "assistant", "user"]


@pytest.mark.rules("T1")
async def test_options_of_the_turn_are_in_its_first_record() -> None:
    house = House(ScriptedLlama(say("Yes.")))
    session = await house.session()

    await house.run(session, limits={"max_tokens": 7})

    user = (await house.records(session))[1]
    assert isinstance(user, User)
    assert user.options.limits == Limits(max_tokens=7)


@pytest.mark.rules("L1")
@pytest.mark.parametrize("pinned", [False, True])
async def test_a_slot_is_asked_for_only_when_slots_are_pinned_and_then_always_the_same(pinned: bool) -> None:
    llama = ScriptedLlama(*(say("Yes.") for _ in range(24)), slots=2)
    house = House(llama, pin_slots=pinned)
    asked: list[set[int | None]] = []
    for _ in range(8):
        session = await house.session()
        before = len(llama.requests)
        for _ in range(3):
            await house.run(session)
        asked.append({request.id_slot for request in llama.requests[before:]})

    assert all(len(slots) == 1 for slots in asked)
    assert set().union(*asked) == ({0, 1} if pinned else {None})
