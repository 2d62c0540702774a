"""A turn's time counts from its message, and what is in flight when it is up is stopped (T12)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from service.core.baseline import Limits
from service.core.completion_events import FinishReason
from service.core.errors import ErrorKind
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.records import Assistant, Limit, Outcome, ResultStatus, TurnOptions
from service.core.signals import Queued
from service.core.tool_port import ToolAnswer, ToolRequest
from service.core.turn import time_left_s
from service.core.turn_state import TurnState
from service.turns.events import SignalEvent
from tests.fakes.clock import START
from tests.fakes.hand_clock import HandClock
from tests.fakes.house import House
from tests.fakes.llama import GONE, Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, result, spec
from tests.turns.turn_facts import end_of, last_turn, restarted, results_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("T12")]

TEN = Limits(turn_time_s=10)
AROUND_TEN = [9.999, 10, 10.001]
REASON = "the time of this turn was up (limit turn_time, setting turn_time_s: 10)"


@pytest.mark.parametrize("passed_s", AROUND_TEN)
def test_the_time_left_is_what_the_limit_allows_less_what_has_passed_since_the_message(passed_s: float) -> None:
    state = TurnState(started_at=START, options=TurnOptions(limits=TEN))

    assert time_left_s(state, START + timedelta(seconds=passed_s)) == pytest.approx(10 - passed_s)


@pytest.mark.parametrize(
    "state",
    [
        TurnState(started_at=START),
        TurnState(started_at=START, options=TurnOptions(limits=Limits(turn_time_s=0))),
        TurnState(options=TurnOptions(limits=TEN)),
    ],
)
def test_without_a_bound_or_a_message_there_is_no_time_to_be_up(state: TurnState) -> None:
    assert time_left_s(state, START + timedelta(days=1)) is None


async def streaming(clock: HandClock, limits: Limits = TEN, reasoning: str = "") -> tuple[House, SessionId, Play]:
    half = Play(content="Once upon", reasoning=reasoning, before_end=asyncio.Event())
    house = House(ScriptedLlama(half, say("Next.")), limits=limits, clock=clock)
    session = await house.session()
    await house.start(session)
    await half.streaming.wait()
    return house, session, half


@pytest.mark.parametrize("passed_s", AROUND_TEN)
async def test_while_text_streams_what_has_come_is_kept(passed_s: float) -> None:
    house, session, half = await streaming(clock := HandClock(), reasoning="hm")

    clock.pass_s(passed_s)
    if passed_s < 10:
        assert half.before_end is not None
        half.before_end.set()
        view = await last_turn(house, session)
        assert (view.outcome, view.limit, view.content) == (Outcome.ANSWERED, None, "Once upon")
        return
    view = await last_turn(house, session)
    after = await house.run(session)

    spoken = next(record for record in await house.records(session) if isinstance(record, Assistant))
    assert (view.outcome, view.limit, view.content) == (Outcome.TURN_LIMIT, Limit.TURN_TIME, "Once upon")
    assert (spoken.content, spoken.finish_reason) == ("Once upon", FinishReason.CANCELLED)
    assert (house.llama.in_flight, house.turns.gate.in_use) == (0, 0)
    # Each turn has its own time.
    assert after.outcome is Outcome.ANSWERED


@pytest.mark.parametrize("passed_s", AROUND_TEN)
async def test_calls_in_flight_are_aborted_and_those_that_wait_are_not_sent(passed_s: float) -> None:
    port = TablePort(spec("send"))
    port.hold = asyncio.Event()
    batch = ask_for(*(call("send", f'{{"city": "{number}"}}', id=f"id{number}") for number in range(5)))
    clock = HandClock()
    house = House(ScriptedLlama(batch, say("Sent.")), port, limits=TEN, clock=clock)
    session = await house.session()
    turn = await house.start(session)
    while port.in_flight < 4:
        port.arrived.clear()
        await port.arrived.wait()

    clock.pass_s(passed_s)
    if passed_s < 10:
        port.hold.set()
        assert (await house.finish(session, turn)).outcome is Outcome.ANSWERED
        return
    view = await house.finish(session, turn)

    closed = await results_of(house, session)
    assert (view.outcome, view.limit, port.aborted) == (Outcome.TURN_LIMIT, Limit.TURN_TIME, 4)
    assert [shown.status for shown in closed] == [ResultStatus.CANCELLED] * 4 + [ResultStatus.NOT_RUN]
    assert closed[0].content == f"The call was stopped while it ran, because {REASON}; it may have taken effect."
    assert closed[4].content == f"The call was not run: {REASON}."


@pytest.mark.parametrize("passed_s", AROUND_TEN)
async def test_between_two_steps_the_model_is_not_asked_again(passed_s: float) -> None:
    clock = HandClock()

    def takes_long(request: ToolRequest) -> ToolAnswer:
        clock.pass_s(passed_s)
        return result("at last")

    port = TablePort(spec("t"), tools={"t": takes_long})
    house = House(ScriptedLlama(ask_for(call("t")), say("Done.")), port, limits=TEN, clock=clock)
    session = await house.session()

    view = await house.run(session)

    if passed_s < 10:
        assert (view.outcome, len(house.llama.requests)) == (Outcome.ANSWERED, 2)
    else:
        assert (view.outcome, view.limit) == (Outcome.TURN_LIMIT, Limit.TURN_TIME)
        assert len(house.llama.requests) == 1
        assert (await end_of(house, session)).steps == 1


@pytest.mark.rules("L9")
@pytest.mark.parametrize("passed_s", AROUND_TEN)
async def test_a_turn_that_waits_for_a_slot_leaves_the_queue(passed_s: float) -> None:
    running = say("Busy", before_end=asyncio.Event())
    clock = HandClock()
    house = House(ScriptedLlama(running, say("Free."), slots=1), clock=clock)
    first, second = await house.session(), await house.session(limits={"turn_time_s": 10})
    other = await house.start(first)
    await running.streaming.wait()
    waiting = await house.start(second)
    await _until_queued(house, second, waiting)

    clock.pass_s(passed_s)
    assert running.before_end is not None
    if passed_s < 10:
        running.before_end.set()
        assert (await house.finish(second, waiting)).content == "Free."
        return
    view = await house.finish(second, waiting)

    assert (view.outcome, view.limit, view.steps) == (Outcome.TURN_LIMIT, Limit.TURN_TIME, 0)
    assert (house.turns.gate.waiting, len(house.llama.requests)) == (0, 1)
    running.before_end.set()
    assert (await house.finish(first, other)).content == "Busy"


async def _until_queued(house: House, session: SessionId, turn: TurnId) -> None:
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=turn, after_pos=None)
    assert following is not None
    async with following:
        async for batch in following:
            if any(isinstance(event, SignalEvent) and isinstance(event.signal, Queued) for event in batch):
                return


async def test_a_server_that_is_away_is_waited_for_no_longer_than_the_turn_may_take() -> None:
    llama = ScriptedLlama(Play(at_once=GONE))
    clock = HandClock()
    house = House(llama, limits=TEN, clock=clock)
    session = await house.session()
    llama.away = GONE
    turn = await house.start(session)
    await clock.asleep.wait()

    clock.pass_s(10)
    view = await house.finish(session, turn)

    assert (view.outcome, view.limit, view.error) == (Outcome.TURN_LIMIT, Limit.TURN_TIME, None)


@pytest.mark.rules("S4")
@pytest.mark.parametrize("passed_s", AROUND_TEN)
async def test_the_time_of_a_turn_runs_on_while_the_service_is_down(passed_s: float) -> None:
    house, session, _ = await streaming(HandClock())
    second = await restarted(house, ScriptedLlama(say("Once more.")), HandClock(passed_s))

    view = await last_turn(second, session)

    if passed_s < 10:
        assert (view.outcome, view.content) == (Outcome.ANSWERED, "Once more.")
    else:
        assert (view.outcome, view.limit, view.content) == (Outcome.TURN_LIMIT, Limit.TURN_TIME, None)
        assert second.llama.requests == []


@pytest.mark.rules("S4", "T13")
async def test_a_call_that_was_in_flight_before_a_restart_is_closed_when_the_time_is_up() -> None:
    port = TablePort(spec("send", idempotent=True))
    port.hold = asyncio.Event()
    house = House(ScriptedLlama(ask_for(call("send"))), port, limits=TEN, clock=HandClock())
    session = await house.session()
    await house.start(session)
    await port.arrived.wait()

    second = await restarted(house, ScriptedLlama(), HandClock(60))
    view = await last_turn(second, session)

    (closed,) = await results_of(second, session)
    assert (view.outcome, view.limit) == (Outcome.TURN_LIMIT, Limit.TURN_TIME)
    assert (closed.status, REASON in closed.content, len(port.calls)) == (ResultStatus.CANCELLED, True, 1)


async def test_without_the_limit_a_turn_may_take_for_ever() -> None:
    house, session, half = await streaming(clock := HandClock(), Limits())

    clock.pass_s(10**7)
    assert half.before_end is not None
    half.before_end.set()

    assert (await last_turn(house, session)).outcome is Outcome.ANSWERED


@pytest.mark.rules("T13")
async def test_a_cancel_before_the_time_is_up_is_a_cancel() -> None:
    house, session, _ = await streaming(HandClock())
    (turn,) = await house.sessions.turns(session, LOCAL_OWNER)

    view, _ = await house.sessions.cancel(session, turn.id, LOCAL_OWNER)

    assert (view.outcome, view.limit, view.content) == (Outcome.CANCELLED, None, "Once upon")


async def test_a_defect_in_a_turn_with_a_limit_is_told_as_one() -> None:
    def broken(request: ToolRequest) -> ToolAnswer:
        raise ZeroDivisionError

    port = TablePort(spec("t"), tools={"t": broken})
    house = House(ScriptedLlama(ask_for(call("t"))), port, limits=TEN, clock=HandClock())

    view = await house.run(await house.session())

    assert view.error is not None
    assert (view.outcome, view.error.kind) == (Outcome.FAILED, ErrorKind.INTERNAL)
