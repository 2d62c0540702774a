"""Takes messages in: at once, behind the turns before them, or in place of the one that runs (H4)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar
from weakref import WeakValueDictionary

import structlog

from service.core.errors import ErrorKind, ProblemCode, RequestRefused, StoreFailure
from service.core.ids import SessionId, TurnId
from service.core.records import Outcome, TurnError, TurnQueued, User
from service.core.request_key import RequestKey
from service.core.signals import Queued
from service.core.turn_records import of_queued_end
from service.core.turn_state import Phase, QueuedTurn
from service.ports import Ids, SessionLog, SessionRow, Tracer
from service.turns.live_session import LiveSession
from service.turns.live_sessions import LiveSessions
from service.turns.open_turns import OpenTurns
from service.turns.preflight import Preflight
from service.turns.requests import OnBusy, TurnAsked
from service.turns.turn_options import turn_options

log = structlog.get_logger(__name__)

Done = TypeVar("Done")

# What a client is told to wait before it asks a busy session again, in seconds.
BUSY_RETRY_S = 1


class TurnIntake:
    """Decides what becomes of a new message; one at a time for each session."""

    def __init__(
        self,
        log: SessionLog,
        ids: Ids,
        live: LiveSessions,
        preflight: Preflight,
        open_turns: OpenTurns,
        tracer: Tracer,
        *,
        queue_limit: int,
    ) -> None:
        self._log = log
        self._ids = ids
        self._tracer = tracer
        self._live = live
        self._preflight = preflight
        self._open_turns = open_turns
        self._queue_limit = queue_limit
        self._taking: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()
        self._proceeding: set[asyncio.Task[None]] = set()
        live.when_ended(self._proceed_soon)

    async def take(self, row: SessionRow, asked: TurnAsked, key: RequestKey | None = None) -> TurnId:
        """Take a message in; when this returns it is in the log, as a turn's beginning or in the queue.

        `key` is kept with it (H3).

        Raises:
            RequestRefused: the session is busy, its queue is full, its owner has too many turns, the message does not
                fit, or a limit would rise.
        """
        lock = self._lock(row.id)
        if asked.on_busy is OnBusy.REJECT and lock.locked():
            raise self._busy(row)
        async with lock:
            run = self._live.run_of(row.id)
            if run is None:
                live = await self._live.load_idle(row)
                if not live.state.queued:
                    return await self._start(live, asked, key)
                self._live.keep(live)
                self._proceed_soon(row.id)
            else:
                live = run.live
            match asked.on_busy:
                case OnBusy.REJECT:
                    raise self._busy(row)
                case OnBusy.QUEUE:
                    return await self._queue(live, asked, key)
                case OnBusy.INTERRUPT:  # pragma: no branch - no kind is left
                    return await self._interrupt(live, asked, key)

    async def apart(self, row: SessionRow, work: Callable[[LiveSession], Awaitable[Done]]) -> Done:
        """Do something with a session that is idle; until it is done the session is busy (H4).

        Raises:
            RequestRefused: the session is busy already.
        """
        lock = self._lock(row.id)
        if lock.locked():
            raise self._busy(row)
        async with lock:
            if self._live.run_of(row.id) is not None:
                raise self._busy(row)
            live = await self._live.load_idle(row)
            try:
                if live.state.queued:
                    self._proceed_soon(row.id)
                    raise self._busy(row)
                return await work(live)
            finally:
                self._let_go(live)

    async def cancel_queued(self, session: SessionId, turn: TurnId) -> bool:
        """Take a turn out of the queue; False when it isn't in it (T13)."""
        async with self._lock(session):
            live = await self._at_hand(session)
            if live is None or turn not in live.state.waiting_turns:
                return False
            await live.append(of_queued_end(live.state, Outcome.CANCELLED), turn=turn)
            _tell_positions(live)
            return True

    async def proceed(self, session: SessionId) -> None:
        """Start the next turn of the queue, if there is one and none runs."""
        async with self._lock(session):
            row = await self._log.session(session)
            if row is None or self._live.run_of(session) is not None or self._live.is_shutting_down:
                return
            live = await self._live.load_idle(row)
            try:
                while live.state.queued and not await self._took_up(live, live.state.queued[0]):
                    pass
                _tell_positions(live)
            finally:
                self._let_go(live)

    async def _start(self, live: LiveSession, asked: TurnAsked, key: RequestKey | None) -> TurnId:
        turn = self._new(asked)
        try:
            with self._open_turns.place_for(turn, live.row.owner):
                await self._put(live, turn, asked, key)
        finally:
            # A caller that is gone by now does not matter: a message that is in the log has its turn (H5).
            self._let_go(live)
        return turn

    async def _put(self, live: LiveSession, turn: TurnId, asked: TurnAsked, key: RequestKey | None) -> None:
        options = turn_options(live, asked)
        await self._preflight.check(live, asked.content)
        await live.append(User(content=asked.content, options=options), turn=turn, key=key)

    async def _queue(self, live: LiveSession, asked: TurnAsked, key: RequestKey | None) -> TurnId:
        options = turn_options(live, asked)
        if len(live.state.queued) >= self._queue_limit:
            raise RequestRefused(
                ProblemCode.QUEUE_FULL,
                f"This session has {self._queue_limit} turns that wait already (queue_limit). Send the message again "
                "when one of them has ended.",
                retry_after_s=BUSY_RETRY_S,
            )
        turn = self._new(asked)
        with self._open_turns.place_for(turn, live.row.owner):
            await self._preflight.check(live, asked.content)
            await live.append(TurnQueued(content=asked.content, options=options), turn=turn, key=key)
        _tell_positions(live)
        if live.state.phase is Phase.IDLE:
            # What it was to wait for has ended in the meantime.
            self._proceed_soon(live.id)
        return turn

    async def _interrupt(self, live: LiveSession, asked: TurnAsked, key: RequestKey | None) -> TurnId:
        # Looked at before anything is cancelled: a message that is refused interrupts nothing.
        turn = self._new(asked)
        with self._open_turns.place_for(turn, live.row.owner, instead_of=live.state.turn):
            turn_options(live, asked)
            await self._preflight.check(live, asked.content)
            await self._live.cancel(live.id)
            try:
                await self._put_in_place(live.id, turn, asked, key)
            finally:
                # Those that wait come next in any case.
                self._proceed_soon(live.id)
        return turn

    async def _put_in_place(self, session: SessionId, turn: TurnId, asked: TurnAsked, key: RequestKey | None) -> None:
        row = await self._log.session(session)
        if row is None:
            raise RequestRefused(ProblemCode.NOT_FOUND, f"There is no session {session!r}.")
        live = await self._live.load_idle(row)
        try:
            await self._put(live, turn, asked, key)
        finally:
            self._let_go(live)

    async def _took_up(self, live: LiveSession, waiting: QueuedTurn) -> bool:
        live.taking_up = waiting.turn
        try:
            await self._preflight.check(live, waiting.content)
        except RequestRefused as refused:
            error = TurnError(kind=ErrorKind.CONTEXT_FULL, message=refused.detail)
            await live.append(of_queued_end(live.state, Outcome.SESSION_FULL, error), turn=waiting.turn)
            return False
        await live.append(User(content=waiting.content, options=waiting.options), turn=waiting.turn)
        return True

    def _new(self, asked: TurnAsked) -> TurnId:
        turn = self._ids.turn()
        if asked.trace is not None:
            self._tracer.asked(turn, asked.trace)
        return turn

    def _let_go(self, live: LiveSession) -> None:
        live.taking_up = None
        if live.state.phase is Phase.IDLE:
            self._live.keep(live)
        else:
            self._live.start(live)

    async def _at_hand(self, session: SessionId) -> LiveSession | None:
        run = self._live.run_of(session)
        if run is not None:
            return run.live
        row = await self._log.session(session)
        if row is None:
            return None
        live = await self._live.load_idle(row)
        self._live.keep(live)
        return live

    def _busy(self, row: SessionRow) -> RequestRefused:
        run, live = self._live.run_of(row.id), self._live.loaded(row.id)
        waiting = live.state.waiting_turns if live is not None else row.status.queued
        turn = run.turn if run is not None else row.status.running or (waiting[0] if waiting else None)
        return RequestRefused(
            ProblemCode.TURN_IN_PROGRESS,
            "This session is busy with another turn. Wait for its end or cancel it, then send the message again; or "
            'send it with "on_busy": "queue" or "interrupt".',
            extensions={"turn": turn},
            retry_after_s=BUSY_RETRY_S,
        )

    def _lock(self, session: SessionId) -> asyncio.Lock:
        return self._taking.setdefault(session, asyncio.Lock())

    def _proceed_soon(self, session: SessionId) -> None:
        task = asyncio.create_task(self._proceed(session), name=f"queue of {session}")
        self._proceeding.add(task)
        task.add_done_callback(self._proceeding.discard)

    async def _proceed(self, session: SessionId) -> None:
        try:
            await self.proceed(session)
        except StoreFailure as failure:
            # The queue is in the log: the next message to this session, or the next start, goes on with it.
            log.error("queue.not_proceeded", session=session, turn=None, reason=str(failure))


def _tell_positions(live: LiveSession) -> None:
    for place, waiting in enumerate(live.state.queued, start=1):
        live.feed.publish_signal(waiting.turn, Queued(position=place))
