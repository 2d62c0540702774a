"""What comes in the moment in which a child is made or taken up, or finds the store broken, leaves no child behind."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from service.adapters.log_memory import MemoryLog
from service.core.baseline import Limits
from service.core.errors import ErrorKind, StoreFailure
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.records import HandoffReturned, Limit, Outcome, TurnFinished
from service.core.views import TurnView
from service.ports import StoredRecord
from tests.fakes.hand_clock import HandClock
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, say
from tests.turns.handing_over import AGENTS, children_of, hand_over
from tests.turns.turn_facts import LaterIds, end_of
from tests.web.stepped import settle

pytestmark = [pytest.mark.anyio, pytest.mark.rules("G2", "T13")]


class SlowLog(MemoryLog):
    """A store that takes its time for a child, and makes it also when nobody waits for that any more.

    It asks for `may_write` before, and for `may_answer` behind the write. `refused` writes to a session fail; while
    `held` is there they wait for it, and tell `holds`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.made = asyncio.Event()
        self.may_write = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.refused = 0
        self.held: asyncio.Event | None = None
        self.holds = asyncio.Event()
        self._writing: set[asyncio.Task[Sequence[StoredRecord]]] = set()

    def hurry(self) -> None:
        """Take no time any more."""
        self.may_write.set()
        self.may_answer.set()

    async def create_session(self, *what: Any, **how: Any) -> Sequence[StoredRecord]:
        if what[0].parent is None:
            return await super().create_session(*what, **how)
        self.asked.set()
        writing = asyncio.create_task(self._make(*what, **how))
        self._writing.add(writing)
        return await asyncio.shield(writing)

    async def _make(self, *what: Any, **how: Any) -> Sequence[StoredRecord]:
        await self.may_write.wait()
        stored = await super().create_session(*what, **how)
        self.made.set()
        await self.may_answer.wait()
        return stored

    async def append(self, *what: Any, **how: Any) -> Sequence[StoredRecord]:
        if self.refused:
            self.refused -= 1
            raise StoreFailure("the disk is full")
        if self.held is not None:
            self.holds.set()
            await self.held.wait()
        return await super().append(*what, **how)


async def begun(log: SlowLog, *script: Play) -> tuple[House, SessionId, TurnId]:
    """Begin a turn that hands over."""
    house = House(ScriptedLlama(ask_for(hand_over()), *script, endless=True), log=log, agents=AGENTS)
    session = await house.session()
    return house, session, await house.start(session)


async def child_turn(house: House, session: SessionId) -> TurnView:
    """Give the turn of the only child."""
    (child,) = await children_of(house, session)
    return await house.sessions.turn(child.session, child.turn, LOCAL_OWNER)


async def test_a_child_that_is_cancelled_while_it_is_made_ends_as_cancelled_and_its_parent_goes_on() -> None:
    log = SlowLog()
    log.may_write.set()
    house, session, turn = await begun(log, say("I see."))
    await log.made.wait()
    (child,) = await children_of(house, session)

    cancelling = asyncio.create_task(house.sessions.cancel(child.session, child.turn, LOCAL_OWNER))
    await asyncio.sleep(0)
    log.hurry()
    ended, _ = await cancelling
    view = await house.finish(session, turn)

    assert (ended.outcome, view.outcome, view.content) == (Outcome.CANCELLED, Outcome.ANSWERED, "I see.")


async def test_a_cancel_while_a_child_is_made_ends_the_child_too() -> None:
    log = SlowLog()
    house, session, turn = await begun(log)
    await log.asked.wait()

    cancelling = asyncio.create_task(house.sessions.cancel(session, turn, LOCAL_OWNER))
    await asyncio.sleep(0)
    log.hurry()
    ended, _ = await cancelling

    assert (ended.outcome, (await child_turn(house, session)).outcome) == (Outcome.CANCELLED, Outcome.CANCELLED)
    assert await log.busy_sessions() == []


@pytest.mark.rules("S5")
async def test_a_child_whose_end_was_not_written_is_ended_with_its_parent() -> None:
    log = SlowLog()
    log.hurry()
    held = say("Green", before_end=asyncio.Event())
    house, session, turn = await begun(log, held)
    await held.streaming.wait()
    # The child's end, and what is written in its place.
    log.refused = 2

    ended, _ = await house.sessions.cancel(session, turn, LOCAL_OWNER)

    assert (ended.outcome, (await child_turn(house, session)).outcome) == (Outcome.CANCELLED, Outcome.CANCELLED)
    assert await log.busy_sessions() == []


@pytest.mark.rules("S5")
async def test_a_store_that_refuses_the_end_of_both_leaves_it_to_the_next_turn() -> None:
    log = SlowLog()
    log.hurry()
    held = say("Green", before_end=asyncio.Event())
    house, session, turn = await begun(log, held, say("Hello again."))
    await held.streaming.wait()
    log.refused = 100
    await house.sessions.cancel(session, turn, LOCAL_OWNER)
    assert len(await log.busy_sessions()) == 2

    log.refused = 0
    after = await house.run(session, "Again")

    assert (after.content, (await child_turn(house, session)).outcome) == ("Hello again.", Outcome.CANCELLED)
    ends = [record for record in await house.records(session) if isinstance(record, TurnFinished | HandoffReturned)]
    assert [end.outcome for end in ends] == [Outcome.CANCELLED, Outcome.FAILED, Outcome.ANSWERED]
    assert await log.busy_sessions() == []


async def restarted_late(log: SlowLog, *, refused: int = 0) -> tuple[House, SessionId]:
    """Stop the service while a child runs, and start it again when the parent's time is up, over a store that refuses.

    It refuses so many writes.
    """
    held = say("Green", before_end=asyncio.Event())
    limits = Limits(turn_time_s=5)
    first = House(ScriptedLlama(ask_for(hand_over()), held), log=log, agents=AGENTS, clock=HandClock(), limits=limits)
    session = await first.session()
    turn = await first.start(session)
    await held.streaming.wait()
    await first.sessions.shut_down(0)

    log.refused = refused
    llama, clock = ScriptedLlama(say("Green."), endless=True), HandClock(passed_s=6)
    second = House(llama, log=log, ids=LaterIds(), agents=AGENTS, clock=clock, limits=limits)
    await second.sessions.resume_unfinished()
    await second.finish(session, turn)
    return second, session


@pytest.mark.rules("S4", "T12")
async def test_a_start_that_finds_the_parents_time_up_ends_the_child_that_it_takes_up_at_the_same_moment() -> None:
    log = SlowLog()
    log.hurry()
    house, session = await restarted_late(log)

    assert (await end_of(house, session)).limit is Limit.TURN_TIME
    assert await log.busy_sessions() == []


@pytest.mark.rules("S4", "S5")
async def test_a_child_that_can_not_be_ended_at_once_does_not_leave_its_parent_open() -> None:
    log = SlowLog()
    log.hurry()
    # That the child is taken up, and its end.
    house, session = await restarted_late(log, refused=2)

    end = await end_of(house, session)
    assert (end.outcome, end.error and end.error.kind) == (Outcome.FAILED, ErrorKind.STORE)
    assert (await child_turn(house, session)).outcome is Outcome.CANCELLED
    assert await log.busy_sessions() == []


@pytest.mark.rules("S5", "T12")
async def test_a_cancel_while_a_turn_whose_time_is_up_waits_for_its_childs_end_leaves_neither_open() -> None:
    log, clock = SlowLog(), HandClock()
    log.hurry()
    held = say("Green", before_end=asyncio.Event())
    limits = Limits(turn_time_s=5)
    house = House(ScriptedLlama(ask_for(hand_over()), held), log=log, agents=AGENTS, clock=clock, limits=limits)
    session = await house.session()
    turn = await house.start(session)
    await held.streaming.wait()

    log.held = asyncio.Event()
    clock.pass_s(6)
    await log.holds.wait()
    cancelling = asyncio.create_task(house.sessions.cancel(session, turn, LOCAL_OWNER))
    await settle()
    log.held.set()
    view, _ = await cancelling

    assert (view.outcome, view.limit) == (Outcome.TURN_LIMIT, Limit.TURN_TIME)
    assert (await child_turn(house, session)).outcome in (Outcome.CANCELLED, Outcome.TURN_LIMIT)
    assert await log.busy_sessions() == []
