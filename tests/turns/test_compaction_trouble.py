"""What goes wrong while a session is compacted: the turn ends with an outcome, and the session can be used on (C1)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

import pytest

from service.access.gate import Holder
from service.core.baseline import Compaction
from service.core.completion_events import Completion, CompletionDelta, StillWaiting, WaitReason
from service.core.completion_request import CompletionRequest
from service.core.errors import ContextFull, ErrorKind, ModelFailure, ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER, SessionId
from service.core.records import (
    Attempt,
    Outcome,
    StepUsage,
    Summary,
)
from service.core.signals import ContentDelta, Queued, Retrying, Waiting
from service.ports import Take
from service.turns.events import SignalEvent
from tests.fakes.counted_llama import CountedLlama, is_for_summary, size_of
from tests.fakes.house import BOUND_S, House
from tests.fakes.llama import GONE, Play, ask_for, call, say
from tests.fakes.tool_port import TablePort, result, spec
from tests.turns.compacting import QUESTION, SIZE, WORDS, filled, summaries, talker, the_summary, working
from tests.turns.turn_facts import end_of, last_turn, restarted

pytestmark = [pytest.mark.anyio, pytest.mark.rules("C1")]


@pytest.mark.cases(27)
async def test_a_context_too_small_for_system_prompt_and_message_is_compacted_twice_at_most_and_then_full() -> None:
    llama = CountedLlama(say(WORDS), context_tokens=SIZE, endless=True)
    house = House(llama)
    session = await house.session(system="Be brief. " * 200)
    outcomes: list[Outcome | None] = []
    refused: RequestRefused | None = None
    for number in range(12):
        before = len(llama.asked_to_summarise)
        try:
            outcomes.append((await house.run(session, f"{number} " * 100)).outcome)
        except RequestRefused as error:
            refused = error
            break
        assert len(llama.asked_to_summarise) - before <= 2

    assert set(outcomes) <= {Outcome.ANSWERED, Outcome.SESSION_FULL}
    assert outcomes
    again = await house.run(session, "Hi") if refused is not None else None
    assert again is None or again.outcome in (Outcome.ANSWERED, Outcome.SESSION_FULL)


async def test_summaries_that_fail_or_say_nothing_are_paid_for_but_not_kept_and_tried_twice_in_a_turn() -> None:
    broken = Play(failure=ModelFailure(ErrorKind.STREAM_CLOSED, "broke"), content="half of")
    llama, port = working(6)
    llama.summaries = [broken, say("  "), say("never asked for")]
    house = House(llama, port)
    session = await house.session()

    view = await house.run(session, "Dump it all.", on_tool_limit="conclude")

    records = await house.records(session)
    wasted = [record for record in records if isinstance(record, StepUsage) and record.summary]
    assert [record.completion_tokens for record in wasted] == [2, 0]
    assert all(record.discarded for record in wasted)
    assert len(llama.asked_to_summarise) == 2
    assert view.usage.completions == len(llama.steps) + 2
    assert view.outcome is Outcome.ANSWERED
    shown = [record for record in records if isinstance(record, Summary)]
    assert {(record.covers, record.text) for record in shown} == {(0, "")}
    assert shown[-1].shortened[:2] == (1, 2)


@pytest.mark.parametrize("words", [10, 400])
async def test_a_summary_that_frees_too_little_is_not_kept(words: int) -> None:
    llama = talker(summaries=[say("word " * words)])
    house, session = await filled(llama, turns=6)

    made = await summaries(house, session)
    assert llama.asked_to_summarise
    assert bool(made) is (words == 10)
    for summary in made:
        assert summary.tokens_before - summary.tokens_after >= summary.tokens_before / 10


async def test_without_compaction_a_full_context_ends_the_turn_and_a_shorter_message_may_still_fit() -> None:
    llama, port = working(12)
    house = House(llama, port)
    session = await house.session(compaction=Compaction.OFF)

    view = await house.run(session, "Dump it all.")

    assert llama.asked_to_summarise == []
    assert await summaries(house, session) == []
    assert view.outcome is Outcome.SESSION_FULL
    assert view.error is not None
    assert view.error.kind is ErrorKind.CONTEXT_FULL
    assert "compaction is off" in view.error.message
    assert (await end_of(house, session)).outcome is Outcome.SESSION_FULL


class Refusing(CountedLlama):
    """Says once that the prompt is too long, whatever it counts."""

    refusals = 1

    def _next(self) -> Play:
        if len(self.steps) > 3 and self.refusals and self.requests[-1] is self.steps[-1]:
            self.refusals -= 1
            return Play(at_once=ContextFull("too long", prompt_tokens=2000, context_tokens=SIZE))
        return super()._next()


@pytest.mark.rules("T4")
async def test_a_prompt_that_the_server_finds_too_long_is_compacted_and_asked_again() -> None:
    house, session = await filled(Refusing(say("Short."), context_tokens=SIZE, endless=True), turns=5)

    (attempt,) = [record for record in await house.records(session) if isinstance(record, Attempt)]
    assert attempt.kind is ErrorKind.CONTEXT_FULL
    assert len(await summaries(house, session)) == 1


@pytest.mark.rules("T14")
async def test_a_summary_without_end_is_paid_for_and_not_kept_and_the_session_can_be_used_on() -> None:
    class Boundless(CountedLlama):
        """Counts far more than there is, once, and writes summaries past any bound."""

        refused = False

        def _next(self) -> Play:
            if len(self.steps) > 3 and not self.refused and self.requests[-1] is self.steps[-1]:
                self.refused = True
                return Play(at_once=ContextFull("too long", prompt_tokens=6 * SIZE, context_tokens=4 * SIZE))
            return super()._next()

    llama = Boundless(say("Short."), context_tokens=4 * SIZE, endless=True, summaries=[say("and so on " * 2 * SIZE)])
    house = House(llama)
    session = await house.session()
    for number in range(3):
        assert (await house.run(session, f"Question {number}. {QUESTION}")).outcome is Outcome.ANSWERED

    views = [await house.run(session, QUESTION) for _ in range(2)]

    assert await summaries(house, session) == []
    (spent,) = [record for record in await house.records(session) if isinstance(record, StepUsage) and record.summary]
    assert spent.discarded
    assert spent.completion_tokens > 4 * SIZE
    assert [view.outcome for view in views] == [Outcome.ANSWERED, Outcome.ANSWERED]


@pytest.mark.rules("T4", "T14")
async def test_a_thought_that_fills_the_context_makes_room_and_the_step_is_asked_again() -> None:
    thought = Play(reasoning="hm", finish_reason="length", completion_tokens=SIZE)
    llama = CountedLlama(say(WORDS), say(WORDS), thought, say("Here."), context_tokens=SIZE)
    house = House(llama)
    session = await house.session()
    for number in range(2):
        await house.run(session, f"Question {number}. {QUESTION}")

    view = await house.run(session, "And?")

    summary = await the_summary(house, session)
    assert (view.outcome, view.content) == (Outcome.ANSWERED, "Here.")
    records = await house.records(session)
    kinds = [type(record).__name__ for record in records[-7:]]
    assert kinds == ["StepUsage", "Summary", "Attempt", "Assistant", "StepUsage", "CacheLoss", "TurnFinished"]
    assert view.usage.completions == 3
    assert view.usage.prompt_tokens == summary.usage.prompt_tokens + sum(
        record.prompt_tokens for record in records[-7:] if isinstance(record, StepUsage)
    )


async def waiting_summary() -> tuple[House, SessionId, str, Play]:
    held = say("Late.", before_end=asyncio.Event())
    house, session = await filled(talker(summaries=[held, say("They talked.")]), turns=4)
    turn = await house.start(session, "More. " * 200)
    async with asyncio.timeout(BOUND_S):
        await held.streaming.wait()
    return house, session, turn, held


@pytest.mark.rules("T13")
async def test_a_cancel_drops_the_summary_that_is_being_written() -> None:
    house, session, turn, _ = await waiting_summary()

    view, _ = await house.sessions.cancel(session, turn, LOCAL_OWNER)  # pyright: ignore[reportArgumentType]

    assert view.outcome is Outcome.CANCELLED
    assert await summaries(house, session) == []
    assert house.turns.gate.in_use == 0
    assert (await house.run(session, "Go on.")).outcome is Outcome.ANSWERED


@pytest.mark.cases(23)
@pytest.mark.rules("S4")
async def test_a_restart_in_the_middle_of_a_summary_makes_it_anew() -> None:
    house, session, _, _ = await waiting_summary()

    second = await restarted(house, talker())

    assert (await last_turn(second, session)).outcome is Outcome.ANSWERED
    assert len(await summaries(second, session)) == 1


async def test_nobody_is_told_the_words_of_a_summary() -> None:
    held = say("secret words", before_end=asyncio.Event())
    house, session = await filled(talker(summaries=[held]), turns=4)
    turn = await house.start(session, "More. " * 200)
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None)
    assert following is not None
    async with asyncio.timeout(BOUND_S), following:
        await held.streaming.wait()
        assert held.before_end is not None
        held.before_end.set()
        told = [event async for batch in following for event in batch]

    signals = [event.signal for event in told if isinstance(event, SignalEvent)]
    assert any(isinstance(signal, ContentDelta) for signal in signals)
    assert "secret" not in str(signals)


@pytest.mark.rules("L7")
async def test_a_server_that_is_away_is_waited_for_by_a_summary_as_well() -> None:
    house, session = await filled(talker(summaries=[Play(at_once=GONE), say("They talked.")]))

    assert await summaries(house, session)
    wasted = [record for record in await house.records(session) if isinstance(record, StepUsage) and record.summary]
    assert wasted == []


async def test_pieces_that_the_server_finds_too_long_are_made_smaller_and_a_server_that_takes_none_ends_it() -> None:
    class Strict(CountedLlama):
        most = 330

        async def stream(
            self, request: CompletionRequest, take: Take | None = None
        ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
            if is_for_summary(request) and size_of(request.messages) > self.most:
                raise ContextFull("too long", prompt_tokens=None, context_tokens=None)
            async for item in super().stream(request):
                yield item

    llama = Strict(say(WORDS), context_tokens=SIZE, endless=True)
    house, session = await filled(llama, turns=3)

    done = await house.sessions.compact(session, LOCAL_OWNER)
    llama.most = 10
    for number in range(3):
        await house.run(session, f"Question {number}. {QUESTION}")
    failed = await house.sessions.compact(session, LOCAL_OWNER)

    assert done.by_hand.summary is not None
    assert failed.by_hand.summary is None
    wasted = [record for record in await house.records(session) if isinstance(record, StepUsage) and record.summary]
    assert wasted


@pytest.mark.rules("L9", "L7")
async def test_a_summary_waits_for_its_permit_and_tells_where_it_is() -> None:
    house, session = await filled(talker(summaries=[say("They talked.")]), turns=4)
    gate = house.turns.gate
    gate.resize(1)
    house.llama.server = replace(house.llama.server, slots=1)
    holder = Holder(session=SessionId("ses_other"), turn=None, step=1)
    async with gate.permit(holder, lambda _: None):
        turn = await house.start(session, "More. " * 200)
        following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None)
        assert following is not None
        async with asyncio.timeout(BOUND_S), following:
            async for batch in following:
                if any(isinstance(event, SignalEvent) and event.signal == Queued(position=1) for event in batch):
                    break
        assert len(gate.queued) == 1
    assert (await house.finish(session, turn)).outcome is Outcome.ANSWERED
    assert len(await summaries(house, session)) == 1


class Silent(CountedLlama):
    """Has no endpoint that counts, or finds everything too long there."""

    failure: ModelFailure = GONE

    async def count_tokens(self, request: CompletionRequest) -> int:
        raise self.failure


async def test_where_the_server_does_not_count_an_estimate_must_do_and_ends_no_turn() -> None:
    house, session = await filled(Silent(say(WORDS), context_tokens=SIZE, endless=True), turns=6)

    assert await summaries(house, session)


async def test_a_server_that_finds_every_prompt_too_long_without_saying_by_how_much_ends_the_turn() -> None:
    llama = Silent(say(WORDS), context_tokens=SIZE, endless=True)
    house, session = await filled(llama, turns=3)
    llama.failure = ContextFull("too long", prompt_tokens=None, context_tokens=None)

    with pytest.raises(RequestRefused) as caught:
        await house.start(session, "More. " * 200)

    assert caught.value.code is ProblemCode.SESSION_FULL


@pytest.mark.cases(27)
async def test_where_head_and_last_results_fill_the_context_two_summaries_at_most_come_before_the_end() -> None:
    llama, port = working(12)
    house = House(llama, port)
    session = await house.session(system="Be brief. " * 330)

    view = await house.run(session, "Dump it all.")

    assert view.outcome is Outcome.SESSION_FULL
    assert view.error is not None
    assert "nothing more can be left out" in view.error.message
    assert 1 <= len(llama.asked_to_summarise) <= 2
    assert len(await summaries(house, session)) >= 1


@pytest.mark.cases(27)
@pytest.mark.rules("T9", "T12")
async def test_long_results_without_end_end_each_turn_with_an_outcome_and_the_session_can_be_used_on() -> None:
    class Greedy(CountedLlama):
        greedy = True

        def _next(self) -> Play:
            if not self.greedy or is_for_summary(self.requests[-1]):
                return super()._next()
            return ask_for(call("dump", f'{{"city": "{len(self.requests)}"}}'))

    port = TablePort(spec("dump"), tools={"dump": lambda request: result("line of the dump\n" * 3600)})
    llama = Greedy(say("Yes."), context_tokens=2048, endless=True)
    house = House(llama, port)
    session = await house.session()

    outcomes = [(await house.run(session, f"Dump {number}.")).outcome for number in range(5)]
    llama.greedy = False
    after = await house.run(session, "And now?")

    assert set(outcomes) <= {Outcome.TURN_LIMIT, Outcome.SESSION_FULL}
    assert after.outcome is Outcome.ANSWERED
    assert await summaries(house, session)


@pytest.mark.rules("T4")
async def test_a_server_of_which_nothing_is_known_but_that_the_prompt_was_too_long_ends_the_turn() -> None:
    llama = CountedLlama(Play(at_once=ContextFull("too long", prompt_tokens=9000, context_tokens=SIZE)))
    llama.away = GONE
    house = House(llama)

    view = await house.run(await house.session())

    assert view.outcome is Outcome.SESSION_FULL
    assert view.error is not None
    assert view.error.message == "too long"


@pytest.mark.rules("T4")
async def test_followers_are_told_to_forget_the_thought_that_filled_the_context() -> None:
    thought = Play(reasoning="hm", finish_reason="length", completion_tokens=SIZE, before_end=asyncio.Event())
    house = House(CountedLlama(say(WORDS), thought, say("Here."), context_tokens=SIZE))
    session = await house.session()
    await house.run(session, QUESTION)
    turn = await house.start(session, "And?")
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None)
    assert following is not None
    async with asyncio.timeout(BOUND_S), following:
        await thought.streaming.wait()
        assert thought.before_end is not None
        thought.before_end.set()
        told = [event async for batch in following for event in batch]

    signals = [event.signal for event in told if isinstance(event, SignalEvent)]
    (retrying,) = [signal for signal in signals if isinstance(signal, Retrying)]
    assert (retrying.step, retrying.reason) == (1, ErrorKind.CONTEXT_FULL)


@pytest.mark.rules("L1")
async def test_a_summary_goes_to_the_slot_that_its_session_is_pinned_to() -> None:
    llama = talker()
    house = House(llama, pin_slots=True)
    session = await house.session()
    for number in range(6):
        await house.run(session, f"Question {number}. {QUESTION}")

    assert llama.asked_to_summarise
    assert {request.id_slot for request in llama.requests} == {llama.steps[0].id_slot}
    assert llama.steps[0].id_slot is not None


@pytest.mark.rules("L2")
async def test_waiting_for_a_busy_server_is_told_of_a_summary_as_well() -> None:
    seen = asyncio.Event()

    class Busy(CountedLlama):
        async def stream(
            self, request: CompletionRequest, take: Take | None = None
        ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
            if is_for_summary(request):
                yield [StillWaiting(reason=WaitReason.SLOT_BUSY, waited_ms=2000)]
                await seen.wait()
            async for item in super().stream(request):
                yield item

    house, session = await filled(Busy(say(WORDS), context_tokens=SIZE, endless=True), turns=4)
    turn = await house.start(session, "More. " * 200)
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None)
    assert following is not None
    waiting = Waiting(reason=WaitReason.SLOT_BUSY, waited_ms=2000)
    async with asyncio.timeout(BOUND_S), following:
        async for batch in following:
            if any(isinstance(event, SignalEvent) and event.signal == waiting for event in batch):
                break
        seen.set()
    assert (await house.finish(session, turn)).outcome is Outcome.ANSWERED


@pytest.mark.rules("L7", "T13")
async def test_an_overflow_that_the_server_tells_in_words_makes_room_as_well() -> None:
    overflow = ModelFailure(ErrorKind.UPSTREAM_ERROR, "Context size has been exceeded.")
    broken = Play(content="It was", failure=overflow)
    house = House(CountedLlama(say(WORDS), broken, say("Here."), context_tokens=SIZE))
    session = await house.session()
    await house.run(session, QUESTION)

    view = await house.run(session, "a " * 950)

    assert (view.outcome, view.content) == (Outcome.ANSWERED, "Here.")
    records = await house.records(session)
    kinds = [type(record).__name__ for record in records[-7:]]
    assert kinds == ["Summary", "StepUsage", "Attempt", "Assistant", "StepUsage", "CacheLoss", "TurnFinished"]
