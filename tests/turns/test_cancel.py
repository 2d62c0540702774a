"""A cancel works in each state of a turn, and leaves a session that goes on (T13)."""

from __future__ import annotations

import asyncio

import pytest

from service.core.completion_events import FinishReason
from service.core.errors import ErrorKind, IllegalTransition
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.records import Assistant, Outcome, Record, ResultStatus, ToolResult, TurnFinished
from service.core.signals import Queued
from service.core.views import TurnView
from service.turns import runner
from service.turns.events import SignalEvent
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec

pytestmark = [pytest.mark.anyio, pytest.mark.rules("T13")]


async def cancel(house: House, session: SessionId, turn: TurnId) -> TurnView:
    view, _ = await house.sessions.cancel(session, turn, LOCAL_OWNER)
    return view


async def test_a_cancel_while_text_streams_keeps_what_has_come() -> None:
    half = say("Once upon a time", before_end=asyncio.Event())
    llama = ScriptedLlama(half, say("Another story."))
    house = House(llama)
    session = await house.session()
    turn = await house.start(session, "Tell me a story.")
    await half.streaming.wait()

    view = await cancel(house, session, turn)
    after = await house.run(session, "Another one.")

    spoken = next(record for record in await house.records(session) if isinstance(record, Assistant))
    assert (view.outcome, view.content) == (Outcome.CANCELLED, "Once upon a time")
    assert (spoken.content, spoken.finish_reason) == ("Once upon a time", FinishReason.CANCELLED)
    assert after.outcome is Outcome.ANSWERED
    assert llama.requests[1].messages[1] == {"role": "assistant", "content": "Once upon a time"}


async def test_a_cancel_before_any_text_leaves_no_empty_message() -> None:
    silent = Play(before_end=asyncio.Event())
    llama = ScriptedLlama(silent, say("Here."))
    house = House(llama)
    session = await house.session()
    turn = await house.start(session)
    await silent.streaming.wait()

    view = await cancel(house, session, turn)
    after = await house.run(session, "Again")

    assert (view.outcome, view.content) == (Outcome.CANCELLED, None)
    assert after.outcome is Outcome.ANSWERED
    assert not [record for record in await house.records(session) if isinstance(record, Assistant)][:-1]


async def test_a_cancel_in_a_thought_keeps_no_message_but_counts_its_tokens() -> None:
    thinking = Play(reasoning="let me see", before_end=asyncio.Event())
    house = House(ScriptedLlama(thinking))
    session = await house.session()
    turn = await house.start(session)
    await thinking.streaming.wait()

    view = await cancel(house, session, turn)

    assert view.usage.reasoning_tokens == 3
    assert not [record for record in await house.records(session) if isinstance(record, Assistant)]


async def test_a_cancel_closes_the_connection_and_gives_the_permit_back() -> None:
    half = say("Once", before_end=asyncio.Event())
    llama = ScriptedLlama(half)
    house = House(llama)
    session = await house.session()
    turn = await house.start(session)
    await half.streaming.wait()

    await cancel(house, session, turn)

    assert (llama.in_flight, house.turns.gate.in_use) == (0, 0)


async def test_a_cancel_aborts_calls_in_flight_and_says_that_they_may_have_taken_effect() -> None:
    port = TablePort(spec("send"))
    port.hold = asyncio.Event()
    llama = ScriptedLlama(ask_for(call("send")), say("Never mind."))
    house = House(llama, port)
    session = await house.session()
    turn = await house.start(session)
    await port.arrived.wait()

    view = await cancel(house, session, turn)
    after = await house.run(session, "Next")

    (closed,) = [record for record in await house.records(session) if isinstance(record, ToolResult)]
    assert (view.outcome, port.aborted, closed.status) == (Outcome.CANCELLED, 1, ResultStatus.CANCELLED)
    assert "may have taken effect" in closed.content
    assert after.outcome is Outcome.ANSWERED


async def test_a_call_that_was_never_sent_is_closed_as_not_run() -> None:
    port = TablePort(spec("send"))
    port.hold = asyncio.Event()
    batch = ask_for(*(call("send", f'{{"city": "{number}"}}', id=f"id{number}") for number in range(5)))
    house = House(ScriptedLlama(batch, say("Fine.")), port)
    session = await house.session()
    turn = await house.start(session)
    while port.in_flight < 4:
        port.arrived.clear()
        await port.arrived.wait()

    await cancel(house, session, turn)

    closed = [record.status for record in await house.records(session) if isinstance(record, ToolResult)]
    assert sorted(closed) == ["cancelled"] * 4 + ["not_run"]


async def test_a_cancel_in_the_queue_leaves_it_at_once() -> None:
    running = say("Busy", before_end=asyncio.Event())
    llama = ScriptedLlama(running, say("Free."), slots=1)
    house = House(llama)
    first, second = await house.session(), await house.session()
    await house.start(first)
    await running.streaming.wait()
    waiting = await house.start(second)
    following = await house.sessions.follow(second, LOCAL_OWNER, turn=waiting, after_pos=None)
    assert following is not None
    async with following:
        async for batch in following:
            if any(isinstance(event, SignalEvent) and isinstance(event.signal, Queued) for event in batch):
                break

    view = await cancel(house, second, waiting)

    assert (view.outcome, house.turns.gate.waiting, len(llama.requests)) == (Outcome.CANCELLED, 0, 1)


async def test_a_finished_turn_stays_as_it_is() -> None:
    house = House(ScriptedLlama(say("Done.")))
    session = await house.session()
    finished = await house.run(session)

    view, was_finished = await house.sessions.cancel(session, finished.id, LOCAL_OWNER)

    assert (view, was_finished) == (finished, True)


async def test_two_cancels_at_once_end_the_turn_once() -> None:
    half = say("Once", before_end=asyncio.Event())
    house = House(ScriptedLlama(half))
    session = await house.session()
    turn = await house.start(session)
    await half.streaming.wait()

    views = await asyncio.gather(cancel(house, session, turn), cancel(house, session, turn))

    ends = [record for record in await house.records(session) if isinstance(record, TurnFinished)]
    assert (len(ends), views[0].outcome) == (1, Outcome.CANCELLED)


async def test_a_defect_in_the_ending_of_a_turn_ends_it_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> tuple[Record, ...]:
        raise IllegalTransition("a defect")

    half = say("Half", before_end=asyncio.Event())
    house = House(ScriptedLlama(half, say("Next.")))
    session = await house.session()
    turn = await house.start(session)
    await half.streaming.wait()
    monkeypatch.setattr(runner, "of_cancel", broken)

    await cancel(house, session, turn)

    view = await house.sessions.turn(session, turn, LOCAL_OWNER)
    assert (view.outcome, view.error and view.error.kind) == (Outcome.FAILED, ErrorKind.INTERNAL)
    assert (await house.run(session)).outcome is Outcome.ANSWERED
