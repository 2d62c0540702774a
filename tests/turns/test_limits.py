"""Limits on batches, on an answer's length and on a message: one below, at, and one above (T4, T5, T12, C0)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

import pytest

from service.core.baseline import Limits, Thinking
from service.core.completion_events import Completion, CompletionDelta
from service.core.completion_request import CompletionRequest
from service.core.errors import ProblemCode, RequestRefused
from service.core.records import Limit, OnToolLimit, Outcome, ResultStatus, ToolChoice
from service.ports import Take
from tests.fakes.house import House
from tests.fakes.llama import PROFILE, Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec
from tests.turns.turn_facts import end_of, results_of

pytestmark = pytest.mark.anyio

CLOSING = "(I stopped here, without an answer: too many rounds of tool calls; limit tool_iterations.)"


def batches(count: int) -> list[Play]:
    return [ask_for(call("t", f'{{"city": "{number}"}}', id=f"id{number}")) for number in range(count)]


@pytest.mark.rules("T5", "T12")
@pytest.mark.parametrize("allowed", [0, 1, 3])
@pytest.mark.parametrize("beyond", [-1, 0, 1])
async def test_batches_of_calls_run_up_to_the_limit(allowed: int, beyond: int) -> None:
    asked = max(0, allowed + beyond)
    port = TablePort(spec("t"))
    house = House(ScriptedLlama(*batches(asked), say("Done."), say("Next.")), port)
    session = await house.session(limits={"tool_iterations": allowed})

    view = await house.run(session)

    assert len(port.calls) == min(asked, allowed)
    end = await end_of(house, session)
    if asked <= allowed:
        assert (view.outcome, view.limit, end.limit) == (Outcome.ANSWERED, None, None)
        return
    last = (await results_of(house, session))[-1]
    assert (view.outcome, view.limit, end.limit) == (Outcome.TURN_LIMIT, *[Limit.TOOL_ITERATIONS] * 2)
    assert (last.status, last.limit) == (ResultStatus.NOT_RUN, Limit.TOOL_ITERATIONS)
    assert last.content == (
        f"The call was not run: this turn's limit on batches of tool calls was reached (tool_iterations: {allowed})."
    )


@pytest.mark.rules("T5")
async def test_of_the_batch_over_the_limit_no_call_runs_and_the_session_goes_on() -> None:
    over = ask_for(*(call("t", f'{{"city": "{number}"}}', id=f"x{number}") for number in range(7, 10)))
    port = TablePort(spec("t"))
    llama = ScriptedLlama(*batches(1), over, say("Next."))
    house = House(llama, port, limits=Limits(tool_iterations=1))
    session = await house.session()

    await house.run(session)
    after = await house.run(session, "Go on.")

    assert [result.status for result in await results_of(house, session)] == [ResultStatus.OK] + [
        ResultStatus.NOT_RUN
    ] * 3
    assert len(port.calls) == 1
    assert after.outcome is Outcome.ANSWERED
    assert llama.requests[-1].messages[-2]["content"] == CLOSING


@pytest.mark.rules("T5", "T12", "P3")
@pytest.mark.parametrize("asked", [1, 2, 3])
async def test_a_turn_that_concludes_is_asked_for_an_answer_at_the_limit(asked: int) -> None:
    llama = ScriptedLlama(*batches(asked), say("Done."), say("Done."))
    port = TablePort(spec("t"))
    house = House(llama, port)
    session = await house.session(limits={"tool_iterations": 2})

    view = await house.run(session, on_tool_limit=OnToolLimit.CONCLUDE)

    assert len(port.calls) == min(asked, 2)
    auto, none = ToolChoice.AUTO, ToolChoice.NONE
    if asked == 1:
        # One below: nothing was reached.
        assert [request.tool_choice for request in llama.requests] == [auto, auto]
        assert (view.outcome, view.limit, view.content) == (Outcome.ANSWERED, None, "Done.")
        return
    assert [request.tool_choice for request in llama.requests] == [auto, auto, none]
    assert llama.requests[0].tools == llama.requests[2].tools != ()
    assert view.limit is (await end_of(house, session)).limit is Limit.TOOL_ITERATIONS
    # One above: the calls came all the same, and nothing else.
    outcome = Outcome.ANSWERED if asked == 2 else Outcome.TURN_LIMIT
    assert (view.outcome, view.content) == (outcome, "Done." if asked == 2 else None)


@pytest.mark.rules("T5")
async def test_bad_calls_count_as_batches_so_that_they_end_as_well() -> None:
    house = House(ScriptedLlama(ask_for(call("nothing")), endless=True), TablePort(spec("t")))

    view = await house.run(await house.session())

    assert (view.outcome, view.limit) == (Outcome.TURN_LIMIT, Limit.TOOL_ITERATIONS)
    assert len(house.llama.requests) == 9


class ObedientLlama(ScriptedLlama):
    """Ends an answer after `max_tokens` words, as a server does."""

    async def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        words = self.script[0].content.split(" ")
        if len(words) > request.max_tokens:
            self.script[0] = say(" ".join(words[: request.max_tokens]), finish_reason="length")
        async for item in super().stream(request):
            yield item


@pytest.mark.rules("T4", "T12", "C0")
@pytest.mark.parametrize("words", [9, 10, 11])
async def test_an_answer_is_cut_above_max_tokens_and_says_so(words: int) -> None:
    house = House(ObedientLlama(say(" ".join(["word"] * words))))
    house.llama.server = replace(house.llama.server, template=replace(PROFILE, thinking_off="tail"))
    session = await house.session(thinking=Thinking.OFF, limits={"max_tokens": 10})

    view = await house.run(session)

    assert house.llama.requests[0].max_tokens == 10
    assert (view.outcome, view.truncated, view.limit) == (Outcome.ANSWERED, words > 10, None)
    assert view.content == " ".join(["word"] * min(words, 10))


@pytest.mark.rules("T4", "T12")
@pytest.mark.parametrize("reason", ["length", "content_filter"])
@pytest.mark.parametrize(
    "play",
    [Play(), Play(content=" \n"), Play(reasoning="hm hm"), Play(calls=(call("t"),))],
    ids=["nothing", "white space", "thought", "calls"],
)
async def test_an_answer_that_is_cut_before_it_says_anything_ends_the_turn_at_max_tokens(
    play: Play, reason: str
) -> None:
    port = TablePort(spec("t"))
    house = House(ScriptedLlama(replace(play, finish_reason=reason), say("Next.")), port)
    session = await house.session()

    view = await house.run(session)
    after = await house.run(session)

    assert (view.outcome, view.limit, view.content) == (Outcome.TURN_LIMIT, Limit.MAX_TOKENS, None)
    assert (view.error, port.calls, after.outcome) == (None, [], Outcome.ANSWERED)


@pytest.mark.rules("C0", "T12")
@pytest.mark.parametrize("counted", [4079, 4080, 4081])
async def test_a_message_is_refused_when_it_leaves_less_than_min_room(counted: int) -> None:
    house = House(ScriptedLlama(say("Read."), say("Short.")))
    session = await house.session()
    house.llama.counted_tokens = counted
    long = "x" * 5000

    if counted <= 4096 - 16:
        assert (await house.run(session, long)).outcome is Outcome.ANSWERED
        return
    with pytest.raises(RequestRefused) as caught:
        await house.start(session, long)

    assert caught.value.code is ProblemCode.SESSION_FULL
    assert caught.value.extensions == {"needed_tokens": 4097, "size_tokens": 4096}
    assert "min_room" in caught.value.detail
    assert len(await house.records(session)) == 1
    # It is no state: a shorter message fits.
    assert (await house.run(session, "Short?")).outcome is Outcome.ANSWERED
