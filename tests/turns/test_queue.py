"""Messages that come while another turn runs: they wait in order, or take its place (H4, T13, S4)."""

from __future__ import annotations

import asyncio

import pytest

from service.core.errors import ErrorKind, ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.records import Outcome, TurnFinished, TurnQueued, User
from service.core.session_status import SessionState
from service.core.signals import Queued
from service.core.views import TurnState, TurnView
from service.turns.events import SignalEvent
from service.turns.requests import OnBusy
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H4")]

BOUND_S = 20.0


def held(text: str) -> Play:
    """A completion that waits until it is let go."""
    return say(text, before_end=asyncio.Event())


def let_go(play: Play) -> None:
    assert play.before_end is not None
    play.before_end.set()


async def running(house: House, first: Play) -> tuple[SessionId, TurnId]:
    """A session whose first turn is in the middle of its answer."""
    session = await house.session()
    turn = await house.start(session, "1")
    await first.streaming.wait()
    return session, turn


async def queue(house: House, session: SessionId, content: str) -> TurnId:
    return await house.start(session, content, on_busy=OnBusy.QUEUE)


async def finish(house: House, session: SessionId, turn: TurnId) -> TurnView:
    async with asyncio.timeout(BOUND_S):
        return await house.finish(session, turn)


async def refused(awaitable: object) -> RequestRefused:
    with pytest.raises(RequestRefused) as caught:
        await awaitable  # pyright: ignore[reportGeneralTypeIssues]
    return caught.value


async def questions(house: House, session: SessionId) -> list[str]:
    return [record.content for record in await house.records(session) if isinstance(record, User)]


async def cancel(house: House, session: SessionId, turn: TurnId) -> TurnView:
    view, _ = await house.sessions.cancel(session, turn, LOCAL_OWNER)
    return view


async def test_queued_messages_run_in_order_behind_the_turn_that_runs() -> None:
    first = held("One.")
    house = House(ScriptedLlama(first, say("Two."), say("Three.")))
    session, one = await running(house, first)
    two, three = await queue(house, session, "2"), await queue(house, session, "3")
    waiting = await house.sessions.view(session, LOCAL_OWNER)
    let_go(first)

    views = [await finish(house, session, turn) for turn in (one, two, three)]

    assert [view.content for view in views] == ["One.", "Two.", "Three."]
    assert await questions(house, session) == ["1", "2", "3"]
    assert (waiting.status.state, waiting.status.running, waiting.status.queued) == ("running", one, (two, three))
    after = await house.sessions.view(session, LOCAL_OWNER)
    assert (after.status.state, after.status.queued) == (SessionState.IDLE, ())
    assert house.llama.most_in_flight == 1


async def test_a_message_to_an_idle_session_runs_at_once_however_it_is_sent() -> None:
    for on_busy in OnBusy:
        house = House(ScriptedLlama(say("One.")))
        session = await house.session()
        assert (await house.run(session, on_busy=on_busy)).content == "One."
        assert not [record for record in await house.records(session) if isinstance(record, TurnQueued)]


async def test_a_queued_message_is_in_the_log_and_not_in_the_prompt() -> None:
    first = held("One.")
    house = House(ScriptedLlama(first, say("Two.")))
    session, _ = await running(house, first)
    two = await queue(house, session, "2")

    view = await house.sessions.turn(session, two, LOCAL_OWNER)
    prompt = await house.sessions.messages(session, LOCAL_OWNER)

    assert (view.state, view.steps, view.content) == (TurnState.QUEUED, 0, None)
    assert [message["content"] for message in prompt.messages] == ["1"]
    assert any(isinstance(record, TurnQueued) and record.content == "2" for record in await house.records(session))
    let_go(first)
    await finish(house, session, two)


async def test_the_queue_is_bounded() -> None:
    first = held("One.")
    house = House(ScriptedLlama(first, say("Next."), endless=True))
    session, _ = await running(house, first)
    turns = [await queue(house, session, str(number)) for number in range(16)]
    over = await refused(queue(house, session, "over"))
    assert (over.code, "queue_limit" in over.detail, over.retry_after_s) == (ProblemCode.QUEUE_FULL, True, 1)
    let_go(first)
    assert [(await finish(house, session, turn)).outcome for turn in turns] == [Outcome.ANSWERED] * 16


async def test_fifty_messages_at_once_run_one_after_another_in_their_order() -> None:
    house = House(ScriptedLlama(say("Yes."), endless=True))
    session = await house.session()
    asked = [queue(house, session, str(number)) for number in range(17)]
    turns = await asyncio.gather(*asked)
    for turn in turns:
        await finish(house, session, turn)
    assert await questions(house, session) == [str(number) for number in range(17)]
    assert house.llama.most_in_flight == 1


@pytest.mark.rules("T13")
async def test_a_queued_turn_is_cancelled_without_having_begun() -> None:
    first = held("One.")
    house = House(ScriptedLlama(first, say("Three.")))
    session, _ = await running(house, first)
    two, three = await queue(house, session, "2"), await queue(house, session, "3")

    cancelled = await cancel(house, session, two)
    again, was_over = await house.sessions.cancel(session, two, LOCAL_OWNER)
    let_go(first)
    await finish(house, session, three)

    assert (cancelled.state, cancelled.outcome, cancelled.steps) == (TurnState.FINISHED, Outcome.CANCELLED, 0)
    assert (again, was_over) == (cancelled, True)
    assert await questions(house, session) == ["1", "3"]


@pytest.mark.rules("T13")
async def test_a_cancel_of_the_running_turn_lets_the_queue_go_on() -> None:
    first = held("One.")
    house = House(ScriptedLlama(first, say("Two.")))
    session, one = await running(house, first)
    two = await queue(house, session, "2")
    assert (await cancel(house, session, one)).outcome is Outcome.CANCELLED
    assert (await finish(house, session, two)).content == "Two."


async def test_positions_are_told_as_they_change() -> None:
    first = held("One.")
    house = House(ScriptedLlama(first, say("Two."), say("Three.")))
    session, _ = await running(house, first)
    two, three = await queue(house, session, "2"), await queue(house, session, "3")
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=three, after_pos=None, until_pause=True)
    assert following is not None
    positions: list[int] = []
    kinds: list[str] = []
    async with asyncio.timeout(BOUND_S), following:
        async for batch in following:
            for event in batch:
                if isinstance(event, SignalEvent):
                    positions += [event.signal.position] if isinstance(event.signal, Queued) else []
                else:
                    kinds.append(event.type)
            if positions == [2]:
                await cancel(house, session, two)
            elif positions == [2, 1]:
                let_go(first)
    assert positions == [2, 1]
    assert kinds == ["turn_queued", "user", "assistant", "usage", "turn_finished"]


async def test_a_session_with_a_queue_is_busy_between_two_turns_too() -> None:
    first = held("One.")
    house = House(ScriptedLlama(first, say("Two.")))
    session, one = await running(house, first)
    two = await queue(house, session, "2")
    let_go(first)
    await finish(house, session, one)
    busy = await refused(house.start(session, "3"))
    assert busy.code is ProblemCode.TURN_IN_PROGRESS
    assert busy.extensions["turn"] in (one, two)
    await finish(house, session, two)


@pytest.mark.rules("C0")
async def test_a_queued_message_that_no_longer_fits_ends_without_having_begun() -> None:
    first = held("One.")
    llama = ScriptedLlama(first, say("Three."), context_tokens=600)
    house = House(llama)
    session, _ = await running(house, first)
    two, three = await queue(house, session, "x" * 400), await queue(house, session, "3")
    llama.counted_tokens = 600
    let_go(first)
    view = await finish(house, session, two)
    assert (view.outcome, view.error and view.error.kind) == (Outcome.SESSION_FULL, ErrorKind.CONTEXT_FULL)
    assert (await finish(house, session, three)).content == "Three."
    assert await questions(house, session) == ["1", "3"]


@pytest.mark.rules("T13")
async def test_an_interrupt_takes_the_place_of_the_running_turn_before_the_queue() -> None:
    first = held("One more word")
    house = House(ScriptedLlama(first, say("Now."), say("Two.")))
    session, one = await running(house, first)
    two = await queue(house, session, "2")
    now = await house.start(session, "now", on_busy=OnBusy.INTERRUPT)

    views = [await finish(house, session, turn) for turn in (one, now, two)]

    assert [view.outcome for view in views] == [Outcome.CANCELLED, Outcome.ANSWERED, Outcome.ANSWERED]
    assert [view.content for view in views] == ["One more word", "Now.", "Two."]
    assert await questions(house, session) == ["1", "now", "2"]


@pytest.mark.rules("T13")
async def test_an_interrupt_aborts_a_tool_that_runs() -> None:
    port = TablePort(spec("slow"))
    port.hold = asyncio.Event()
    house = House(ScriptedLlama(ask_for(call("slow")), say("Now.")), port)
    session = await house.session()
    await house.start(session, "1")
    await port.arrived.wait()
    now = await house.start(session, "now", on_busy=OnBusy.INTERRUPT)
    assert (await finish(house, session, now)).content == "Now."
    assert port.aborted == 1


@pytest.mark.rules("C0")
async def test_an_interrupt_that_is_refused_interrupts_nothing() -> None:
    first = held("One.")
    llama = ScriptedLlama(first, context_tokens=600)
    house = House(llama)
    session, one = await running(house, first)
    llama.counted_tokens = 600
    full = await refused(house.start(session, "x" * 900, on_busy=OnBusy.INTERRUPT))
    high = await refused(house.start(session, "y", on_busy=OnBusy.INTERRUPT, limits={"tool_iterations": 99}))
    let_go(first)
    assert (full.code, high.code) == (ProblemCode.SESSION_FULL, ProblemCode.VALIDATION)
    assert (await finish(house, session, one)).content == "One."


@pytest.mark.rules("S4")
async def test_a_queue_is_gone_on_with_after_a_restart() -> None:
    first = held("One.")
    house = House(ScriptedLlama(first))
    session, one = await running(house, first)
    two = await queue(house, session, "2")
    await house.sessions.shut_down(0)

    again = House(ScriptedLlama(say("One, again."), say("Two.")), log=house.log)
    await again.sessions.resume_unfinished()
    views = [await finish(again, session, turn) for turn in (one, two)]

    assert [view.content for view in views] == ["One, again.", "Two."]
    assert await questions(again, session) == ["1", "2"]


@pytest.mark.rules("S4")
async def test_a_queue_between_two_turns_is_gone_on_with_after_a_restart() -> None:
    first = held("One.")
    house = House(ScriptedLlama(first))
    session, _ = await running(house, first)
    two = await queue(house, session, "2")
    # The service ends right when the first turn does, before the second is taken up.
    ending = asyncio.create_task(house.sessions.shut_down(BOUND_S))
    await house.stops(session)
    let_go(first)
    await ending

    again = House(ScriptedLlama(say("Two.")), log=house.log)
    before = [record for record in await again.records(session) if isinstance(record, TurnFinished)]
    await again.sessions.resume_unfinished()
    assert (await finish(again, session, two)).content == "Two."
    assert len(before) == 1


@pytest.mark.rules("H9")
async def test_a_deleted_session_takes_its_queue_with_it() -> None:
    first = held("One.")
    house = House(ScriptedLlama(first))
    session, _ = await running(house, first)
    two = await queue(house, session, "2")
    await house.sessions.delete(session, LOCAL_OWNER)
    gone = await refused(house.sessions.turn(session, two, LOCAL_OWNER))
    assert gone.code is ProblemCode.NOT_FOUND
    assert len(house.llama.requests) == 1


async def test_the_options_of_a_queued_turn_are_its_own() -> None:
    first = held("One.")
    house = House(ScriptedLlama(first, ask_for(call("weather")), say("No.")), TablePort(spec("weather")))
    session, _ = await running(house, first)
    two = await house.start(session, "2", on_busy=OnBusy.QUEUE, limits={"tool_iterations": 0})
    let_go(first)
    assert (await finish(house, session, two)).outcome is Outcome.TURN_LIMIT
