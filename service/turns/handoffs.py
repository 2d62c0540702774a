"""Lets another agent answer a call: makes its session, runs its turn, and brings its answer back (G2)."""

from __future__ import annotations

import asyncio
from typing import Protocol

import structlog

from service.access.written import written
from service.codec import decode_record
from service.core.batch import HandOver
from service.core.errors import RequestRefused
from service.core.handoff import ChildEnd, first_message
from service.core.ids import SessionId, TurnId
from service.core.records import (
    ChildLink,
    HandoffReturned,
    HandoffStarted,
    Outcome,
    ParentLink,
    ToolCall,
    TurnFinished,
    TurnOptions,
)
from service.core.trace_context import TraceContext
from service.core.turn import time_left_s, waited_s
from service.core.turn_fold import fold
from service.ports import Clock, Ids, SessionLog, SessionRow, Tracer
from service.turns.feed import Feeds
from service.turns.live_session import LiveSession
from service.turns.session_creation import ChildAsked, SessionCreation

log = structlog.get_logger(__name__)

# A turn whose child may begin to wait for people at any time looks at its own time no more often than this.
_LEAST_LOOK_S = 0.5


class RunningChild(Protocol):
    """A child's turn while it runs."""

    live: LiveSession
    turn: TurnId
    task: asyncio.Task[None] | None


class ChildTurns(Protocol):
    """What a handoff needs of the sessions in memory."""

    @property
    def is_shutting_down(self) -> bool:
        """Whether no further turn may start."""
        ...

    def run_of(self, session: SessionId) -> RunningChild | None:
        """Give the run that is in progress."""
        ...

    def is_paused(self, live: LiveSession) -> bool:
        """Say whether the session's turn waits for people, itself or through a child."""
        ...

    def taking_up(self, session: SessionId) -> asyncio.Lock:
        """Give the lock that is held until the session's open turn runs."""
        ...

    async def begin(self, row: SessionRow) -> None:
        """Run the turn that the session was made with; `taking_up` is held since before it was made."""
        ...

    async def resume(self, row: SessionRow) -> None:
        """Run the turn that the log leaves open, unless it runs already."""
        ...

    async def look_at(self, row: SessionRow) -> LiveSession:
        """Give the session as it is now, for reading only."""
        ...

    async def cancel_turn(self, session: SessionId, turn: TurnId) -> None:
        """Cancel this turn, whether it runs or was left open, and wait until it has ended."""
        ...


class Handoffs:
    """The parents' side of handoffs."""

    def __init__(
        self, log: SessionLog, ids: Ids, clock: Clock, creation: SessionCreation, feeds: Feeds, tracer: Tracer
    ) -> None:
        self._log = log
        self._ids = ids
        self._clock = clock
        self._creation = creation
        self._feeds = feeds
        self._tracer = tracer
        self._turns: ChildTurns | None = None

    def connect(self, turns: ChildTurns) -> None:
        """Name the sessions in memory; they are made after this, since they run what runs handoffs."""
        self._turns = turns

    @property
    def _children(self) -> ChildTurns:
        assert self._turns is not None  # assembled before anything runs
        return self._turns

    async def run(self, live: LiveSession, call: ToolCall, handover: HandOver, trace: TraceContext) -> ChildEnd:
        """Run the child's turn to its end, below `trace`; one that a crash interrupted goes on.

        Raises:
            StoreFailure: a log can't be read or written.
        """
        child = handover.child
        if child is None:
            child = ChildLink(session=self._ids.session(), turn=self._ids.turn())
            await live.append(HandoffStarted(call=call.call, agent=handover.agent, child=child))
        self._tracer.asked(child.turn, trace)
        if await self._log.session(child.session) is None:
            try:
                async with self._children.taking_up(child.session):
                    await self._make(live, call, handover, child)
            except RequestRefused as refused:
                log.warning("handoff.not_made", session=live.id, agent=handover.agent, reason=refused.detail)
                returned = HandoffReturned(call=call.call, child=child, outcome=Outcome.FAILED, content=None)
                return ChildEnd(record=returned, why=_clause(refused.detail))
        return await self._end(live, call.call, child)

    async def _make(self, live: LiveSession, call: ToolCall, handover: HandOver, child: ChildLink) -> None:
        parent = await self._log.session(live.id)
        assert parent is not None  # its turn runs
        assert live.state.turn is not None
        asked = ChildAsked(
            session=child.session,
            turn=child.turn,
            agent=handover.agent,
            owner=parent.owner,
            parent=ParentLink(session=live.id, turn=live.state.turn, call=call.call),
            depth=live.state.depth + 1,
            data_class=live.state.totals.data_class,
            untrusted=live.state.totals.untrusted_seen,
            content=first_message(handover.message, live.messages, handover.carry),
            options=TurnOptions(on_tool_limit=live.state.options.on_tool_limit),
        )
        # Joined before its session is made: who follows this one expects records of the child from then on.
        feed = self._feeds.join(child.session, live.id)
        feed.publish_records(await written(self._creation.create_child(asked)))
        row = await self._log.session(child.session)
        if row is not None:
            await self._children.begin(row)

    async def _end(self, live: LiveSession, call: int, child: ChildLink) -> ChildEnd:
        while True:
            run = self._children.run_of(child.session)
            if run is not None and run.turn == child.turn:
                await self._change_of(run, live)
                continue
            end = await self._ended(call, child)
            if end is not None:
                return end
            await self._go_on(child)

    async def _change_of(self, run: RunningChild, live: LiveSession) -> None:
        """Wait until the child's turn has ended; whoever waits for the parent hears when the child begins to wait."""
        assert run.task is not None  # a run that is listed has its task
        told = False
        with run.live.watched() as changed:
            while not run.task.done():
                changed.clear()
                paused = self._children.is_paused(run.live)
                if paused != told:
                    told = paused
                    live.tell_watchers()
                waiting = asyncio.create_task(changed.wait())
                try:
                    await asyncio.wait({run.task, waiting}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    waiting.cancel()

    async def _ended(self, call: int, child: ChildLink) -> ChildEnd | None:
        entries = [decode_record(stored.body) for stored in await self._log.read(child.session, turn=child.turn)]
        if not entries:
            gone = HandoffReturned(call=call, child=child, outcome=None, content=None)
            return ChildEnd(record=gone)
        end = entries[-1].record
        if not isinstance(end, TurnFinished):
            return None
        return ChildEnd(
            record=HandoffReturned(
                call=call,
                child=child,
                outcome=end.outcome,
                content=end.content,
                waited_s=fold(entries[:-1]).paused_s,
            ),
            limit=end.limit,
            why=None if end.error is None else _clause(f"it failed ({end.error.kind}): {end.error.message}"),
            data_class=end.totals.data_class,
            untrusted=end.totals.untrusted_seen,
        )

    async def _go_on(self, child: ChildLink) -> None:
        if self._children.is_shutting_down:
            # The next start goes on with both; until then this task waits to be cancelled.
            await asyncio.get_running_loop().create_future()
        row = await self._log.session(child.session)
        if row is not None:
            await self._children.resume(row)

    async def cancel_child(self, live: LiveSession) -> None:
        """Cancel the child of an open call, if there is one: it ends before its parent does (T13)."""
        child = live.state.child
        if child is not None:
            await self._children.cancel_turn(child.session, child.turn)

    async def time_left_s(self, live: LiveSession) -> float | None:
        """Give the seconds that the turn may still take, its child's waits for people not counted (T12)."""
        left_s = time_left_s(live.state, self._clock.now())
        if left_s is None or live.state.child is None:
            return left_s
        left_s += await self._waited_s(live.state.child)
        return left_s if left_s <= 0 else max(left_s, _LEAST_LOOK_S)

    async def _waited_s(self, child: ChildLink) -> float:
        row = await self._log.session(child.session)
        if row is None:
            return 0.0
        state = (await self._children.look_at(row)).state
        below = 0.0 if state.child is None else await self._waited_s(state.child)
        return waited_s(state, self._clock.now()) + below


def _clause(sentence: str) -> str:
    return sentence.strip().rstrip(".")
