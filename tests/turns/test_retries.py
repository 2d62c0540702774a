"""Waiting, trying again, and capping a thought, over a scripted model (L6, L7, L9)."""

from __future__ import annotations

import asyncio

import pytest

from service.core.errors import ErrorKind, ModelFailure, UpstreamHttp
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.records import Assistant, Attempt, Outcome, StepUsage
from service.core.signals import ContentDelta, Queued, Retrying, Signal, ThinkingCapped, Waiting
from service.turns.events import SignalEvent
from tests.fakes.house import House
from tests.fakes.llama import GONE, Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec

pytestmark = pytest.mark.anyio

CLOSED = ModelFailure(ErrorKind.STREAM_CLOSED, "the connection broke")
LOADING = UpstreamHttp(503, "Loading model")
OVERFLOW = ModelFailure(ErrorKind.UPSTREAM_ERROR, "Context size has been exceeded.", status=500)


async def signals_of(house: House, session: SessionId, turn: TurnId) -> list[Signal]:
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None, until_pause=True)
    assert following is not None
    async with following:
        return [event.signal async for batch in following for event in batch if isinstance(event, SignalEvent)]


async def attempts_of(house: House, session: SessionId) -> list[tuple[int, ErrorKind]]:
    return [(record.attempt, record.kind) for record in await house.records(session) if isinstance(record, Attempt)]


@pytest.mark.rules("L7", "T2")
async def test_a_stream_that_breaks_is_tried_again_and_its_deltas_are_to_be_forgotten() -> None:
    house = House(ScriptedLlama(say("Half an", failure=CLOSED), say("Whole.")))
    session = await house.session()
    turn = await house.start(session)

    signals = await signals_of(house, session, turn)
    view = await house.finish(session, turn)

    retrying = [signal for signal in signals if isinstance(signal, Retrying)]
    assert [(r.step, r.attempt, r.reason, r.delay_ms) for r in retrying] == [(1, 1, ErrorKind.STREAM_CLOSED, 250)]
    behind = signals[signals.index(retrying[0]) :]
    assert "".join(signal.text for signal in behind if isinstance(signal, ContentDelta)) == "Whole."
    assert next(signal.offset for signal in behind if isinstance(signal, ContentDelta)) == 0
    assert (view.outcome, view.content) == (Outcome.ANSWERED, "Whole.")
    assert await attempts_of(house, session) == [(1, ErrorKind.STREAM_CLOSED)]
    assert [record.content for record in await house.records(session) if isinstance(record, Assistant)] == ["Whole."]


@pytest.mark.rules("L7", "T14")
async def test_what_a_failed_attempt_cost_is_counted_and_discarded() -> None:
    house = House(ScriptedLlama(say("Half an", failure=CLOSED), say("Whole.")))
    session = await house.session()

    view = await house.run(session)

    usages = [record for record in await house.records(session) if isinstance(record, StepUsage)]
    assert [(usage.discarded, usage.estimated) for usage in usages] == [(True, True), (False, False)]
    assert view.usage.completions == 2


@pytest.mark.rules("L7")
async def test_nothing_is_told_to_forget_when_nothing_was_shown() -> None:
    house = House(ScriptedLlama(Play(at_once=CLOSED), say("Whole.")))
    session = await house.session()
    turn = await house.start(session)

    assert not [s for s in await signals_of(house, session, turn) if isinstance(s, Retrying)]
    assert await attempts_of(house, session) == [(1, ErrorKind.STREAM_CLOSED)]


@pytest.mark.cases(4)
@pytest.mark.rules("L7", "T13")
async def test_after_the_last_attempt_the_turn_fails_with_what_had_come_and_the_session_goes_on() -> None:
    llama = ScriptedLlama(*[say("Half an", failure=CLOSED)] * 3, say("Better."))
    house = House(llama)
    session = await house.session()

    view = await house.run(session)
    after = await house.run(session)

    assert view.error is not None
    assert (view.outcome, view.error.kind, view.content) == (Outcome.FAILED, ErrorKind.STREAM_CLOSED, "Half an")
    assert [attempt for attempt, _ in await attempts_of(house, session)] == [1, 2]
    assert [round(seconds, 2) for seconds in house.clock.slept] == [0.25, 0.5]
    assert after.outcome is Outcome.ANSWERED


@pytest.mark.rules("L7")
async def test_each_step_of_a_turn_has_its_attempts_for_itself() -> None:
    fails = [Play(at_once=CLOSED)] * 2
    llama = ScriptedLlama(*fails, ask_for(call("t")), *fails, say("Done."))
    house = House(llama, TablePort(spec("t")))
    session = await house.session()

    assert (await house.run(session)).outcome is Outcome.ANSWERED


@pytest.mark.rules("L7")
async def test_a_refusal_is_not_tried_again() -> None:
    llama = ScriptedLlama(Play(at_once=UpstreamHttp(401, "Invalid API Key")))
    house = House(llama)

    view = await house.run(await house.session())

    assert view.error is not None
    assert (view.error.kind, view.error.status, len(llama.requests)) == (ErrorKind.UPSTREAM_HTTP, 401, 1)


@pytest.mark.rules("L7", "L9")
async def test_while_a_step_backs_off_others_use_its_permit() -> None:
    llama = ScriptedLlama(Play(at_once=CLOSED), say("Other."), say("Whole."), slots=1)
    house = House(llama)
    first, second = await house.session(), await house.session()
    house.clock.may_wake = wake = asyncio.Event()
    turn = await house.start(first)
    await house.clock.asleep.wait()

    assert (await house.run(second)).content == "Other."
    wake.set()
    assert (await house.finish(first, turn)).content == "Whole."


@pytest.mark.rules("L7", "L9")
@pytest.mark.parametrize("away", [GONE, LOADING])
async def test_a_server_that_is_away_or_loads_is_waited_for_without_a_permit_or_an_attempt(away: ModelFailure) -> None:
    llama = ScriptedLlama(Play(at_once=away), say("There."))
    house = House(llama)
    llama.away = away
    session = await house.session()
    turn = await house.start(session)
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None, until_pause=True)
    assert following is not None

    waited: list[Waiting] = []
    async with following:
        async for batch in following:
            news = [e.signal for e in batch if isinstance(e, SignalEvent) and isinstance(e.signal, Waiting)]
            waited += news
            if news and len(waited) == 3:
                assert house.turns.gate.in_use == 0
                llama.away = None

    view = await house.finish(session, turn)
    assert {signal.reason for signal in waited} == {"loading"}
    assert [signal.waited_ms for signal in waited][:3] == [0, 2000, 4000]
    assert (view.outcome, view.content) == (Outcome.ANSWERED, "There.")
    assert await attempts_of(house, session) == []


@pytest.mark.rules("L7")
async def test_a_server_that_stays_away_ends_the_turn_after_its_time() -> None:
    llama = ScriptedLlama(Play(at_once=GONE), endless=True)
    llama.away = GONE
    house = House(llama)

    view = await house.run(await house.session())

    assert view.error is not None
    assert (view.outcome, view.error.kind) == (Outcome.FAILED, ErrorKind.LOAD_TIMEOUT)
    assert "load_wait_ms" in view.error.message
    assert len(house.clock.slept) == 150


@pytest.mark.rules("L7")
async def test_a_server_that_says_it_is_there_and_refuses_all_the_same_is_not_waited_for_for_ever() -> None:
    llama = ScriptedLlama(Play(at_once=LOADING), endless=True)
    house = House(llama)

    view = await house.run(await house.session())

    assert view.error is not None
    assert view.error.kind is ErrorKind.LOAD_TIMEOUT


@pytest.mark.rules("L7")
async def test_two_hundred_turns_that_wait_share_one_question_for_the_servers_health() -> None:
    class Counting(ScriptedLlama):
        checks = 0

        async def check(self) -> None:
            self.checks += 1
            await super().check()

    llama = Counting(*[Play(at_once=GONE)] * 200, say("There."), endless=True, slots=200)
    llama.away = None
    house = House(llama)
    sessions = [await house.session() for _ in range(200)]

    views = await asyncio.gather(*(house.run(session) for session in sessions))

    assert {view.outcome for view in views} == {Outcome.ANSWERED}
    assert llama.checks < 20


@pytest.mark.rules("L7", "T13")
async def test_a_turn_that_waits_for_the_server_can_be_cancelled() -> None:
    class Deaf(ScriptedLlama):
        asked = asyncio.Event()

        async def check(self) -> None:
            self.asked.set()
            await asyncio.Event().wait()

    llama = Deaf(Play(at_once=GONE), say("Next."))
    llama.asked = asyncio.Event()
    house = House(llama)
    session = await house.session()
    turn = await house.start(session)
    await llama.asked.wait()

    view, _ = await house.sessions.cancel(session, turn, LOCAL_OWNER)

    assert view.outcome is Outcome.CANCELLED
    assert (await house.run(session)).content == "Next."


@pytest.mark.rules("L7", "L9")
async def test_an_overflow_of_the_slots_shared_cache_is_tried_once_more_alone() -> None:
    busy = say("Busy", before_end=asyncio.Event())
    llama = ScriptedLlama(busy, say("Half", failure=OVERFLOW), say("Alone."), slots=2)
    house = House(llama)
    first, second = await house.session(), await house.session()
    running = await house.start(first)
    await busy.streaming.wait()
    turn = await house.start(second)
    following = await house.sessions.follow(second, LOCAL_OWNER, turn=turn, after_pos=None)
    assert following is not None
    async with following:
        async for batch in following:
            if any(isinstance(event, SignalEvent) and isinstance(event.signal, Queued) for event in batch):
                break
    assert busy.before_end is not None
    busy.before_end.set()
    await house.finish(first, running)

    view = await house.finish(second, turn)

    assert (view.outcome, view.content) == (Outcome.ANSWERED, "Alone.")
    assert await attempts_of(house, second) == [(1, ErrorKind.CONTEXT_FULL)]


@pytest.mark.rules("L7", "S4")
async def test_attempts_are_in_the_log_so_that_a_restart_does_not_begin_anew() -> None:
    half = say("Half", before_end=asyncio.Event())
    llama = ScriptedLlama(Play(at_once=CLOSED), Play(at_once=CLOSED), half)
    first = House(llama)
    session = await first.session()
    await first.start(session)
    await half.streaming.wait()
    await first.sessions.shut_down(0)
    house = House(ScriptedLlama(Play(at_once=CLOSED), say("x")), log=first.log)

    await house.sessions.resume_unfinished()
    (turn,) = await house.sessions.turns(session, LOCAL_OWNER)
    view = await house.finish(session, turn.id)

    assert (view.outcome, len(house.llama.requests)) == (Outcome.FAILED, 1)


def thought(tokens: int, **other: object) -> Play:
    return Play(reasoning=" ".join("hm" for _ in range(tokens)), **other)  # pyright: ignore[reportArgumentType]


@pytest.mark.rules("L6")
async def test_a_thought_that_reaches_its_budget_is_told_and_flagged() -> None:
    house = House(ScriptedLlama(thought(98, content="So."), say("x")))
    session = await house.session(limits={"thinking_tokens": 100})
    turn = await house.start(session)

    capped = [s for s in await signals_of(house, session, turn) if isinstance(s, ThinkingCapped)]
    await house.finish(session, turn)

    (usage,) = [record for record in await house.records(session) if isinstance(record, StepUsage)]
    assert [(signal.step, signal.reasoning_tokens) for signal in capped] == [(1, 96)]
    assert usage.thinking_capped
    assert house.llama.ended_thoughts == []


@pytest.mark.rules("L6")
async def test_a_thought_that_runs_over_is_ended_at_the_server() -> None:
    house = House(ScriptedLlama(thought(170, content="So.")))
    session = await house.session(limits={"thinking_tokens": 100})

    view = await house.run(session)

    assert (view.outcome, view.content) == (Outcome.ANSWERED, "So.")
    assert house.llama.ended_thoughts == ["chatcmpl-1"]


@pytest.mark.rules("L6")
async def test_a_server_that_cannot_end_a_thought_changes_nothing() -> None:
    class Older(ScriptedLlama):
        async def end_thought(self, completion_id: str) -> bool:
            raise UpstreamHttp(404, "File Not Found")

    house = House(Older(thought(170, content="So.")))

    view = await house.run(await house.session(limits={"thinking_tokens": 100}))

    assert (view.outcome, view.content) == (Outcome.ANSWERED, "So.")


@pytest.mark.cases(28)
@pytest.mark.rules("L6", "L7")
async def test_a_model_that_thinks_for_ever_is_broken_off_and_asked_to_think_less() -> None:
    llama = ScriptedLlama(thought(1000), thought(10, content="So."))
    house = House(llama)
    session = await house.session(limits={"thinking_tokens": 100})
    turn = await house.start(session)

    retrying = [s for s in await signals_of(house, session, turn) if isinstance(s, Retrying)]
    view = await house.finish(session, turn)

    assert (view.outcome, view.content) == (Outcome.ANSWERED, "So.")
    assert [signal.reason for signal in retrying] == [ErrorKind.THINKING_CAP]
    assert [request.thinking_budget_tokens for request in llama.requests] == [100, 16]
    assert llama.in_flight == 0
    assert view.usage.reasoning_tokens == 228 + 10


@pytest.mark.cases(28)
@pytest.mark.rules("L6")
async def test_a_model_that_never_stops_thinking_fails_the_turn_by_name() -> None:
    house = House(ScriptedLlama(thought(1000), endless=True))

    view = await house.run(await house.session(limits={"thinking_tokens": 100}))

    assert view.error is not None
    assert (view.outcome, view.error.kind) == (Outcome.FAILED, ErrorKind.THINKING_CAP)
    assert "thinking_tokens" in view.error.message
    assert len(house.llama.requests) == 2


@pytest.mark.rules("L6")
async def test_the_budget_is_the_turns_over_all_its_steps() -> None:
    llama = ScriptedLlama(thought(60, calls=(call("t"),)), thought(30, calls=(call("t", id="b"),)), say("Done."))
    house = House(llama, TablePort(spec("t")))

    await house.run(await house.session(limits={"thinking_tokens": 100}))

    assert [request.thinking_budget_tokens for request in llama.requests] == [100, 40, 16]
