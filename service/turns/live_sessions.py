"""The sessions in memory, and the one task that each may run."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from weakref import WeakValueDictionary

from service.core.errors import ErrorKind, service_is_stopping
from service.core.ids import SessionId, TurnId
from service.core.records import Entry, Resumed
from service.core.signals import Signal
from service.core.turn_records import PartialAnswer, of_cancel, of_error
from service.core.turn_state import Phase
from service.ports import SessionLog, SessionRow
from service.turns.feed import Feeds
from service.turns.live_session import LiveSession
from service.turns.runner import TurnRun, TurnRunner
from service.turns.session_loading import SessionLoading

# Idle sessions kept in memory, so that their next turn need not read the log again.
IDLE_KEPT = 256


class LiveSessions:
    """Loads sessions, runs their turns, and forgets those that are idle for longest."""

    def __init__(
        self,
        log: SessionLog,
        loading: SessionLoading,
        feeds: Feeds,
        runner: TurnRunner,
        *,
        resume_attempts: int,
    ) -> None:
        self._log = log
        self._loading = loading
        self._feeds = feeds
        self._runner = runner
        self._resume_attempts = resume_attempts
        self._idle: OrderedDict[SessionId, LiveSession] = OrderedDict()
        self._loaded: WeakValueDictionary[SessionId, LiveSession] = WeakValueDictionary()
        self._runs: dict[SessionId, TurnRun] = {}
        self._when_ended: Callable[[SessionId], None] = lambda _: None
        self._shutting_down = False
        self._barred: set[SessionId] = set()
        self._taking_up: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()

    @property
    def is_shutting_down(self) -> bool:
        """Whether no further turn may start (H8)."""
        return self._shutting_down

    def refuse_at_shutdown(self) -> None:
        """Take nothing on any more once the service stops (H8).

        Raises:
            RequestRefused: it does (`shutting_down`).
        """
        if self._shutting_down:
            raise service_is_stopping()

    def when_ended(self, call: Callable[[SessionId], None]) -> None:
        """Have `call` called for each session whose turn has ended while others wait in its queue."""
        self._when_ended = call

    def run_of(self, session: SessionId) -> TurnRun | None:
        """Give the run that is in progress."""
        return self._runs.get(session)

    def in_progress(self) -> list[LiveSession]:
        """Give the sessions whose turns are in progress, those that wait for people among them."""
        return [run.live for run in self._runs.values()]

    def loaded(self, session: SessionId) -> LiveSession | None:
        """Give the session as it is in memory, if it is."""
        return self._loaded.get(session)

    async def load_idle(self, row: SessionRow) -> LiveSession:
        """Take a session that no turn runs in out of memory, or read it from its log.

        A turn that the log leaves open though nothing runs it lost its last record to a broken store: its end is
        appended first (S5).

        Raises:
            StoreFailure: the log can't be read, or that end can't be written.
            RequestRefused: a turn is open because the service stops; it belongs to the next start (H8).
        """
        live = self._idle.pop(row.id, None) or await self._read(row)
        # It may have been kept by its making meanwhile, which is the same.
        self._idle.pop(row.id, None)
        if live.state.phase is not Phase.IDLE:
            self.refuse_at_shutdown()
            await self._cancel_child(live)
            await live.append(*of_error(live.state, ErrorKind.STORE, "the end of this turn could not be written"))
        return live

    async def look_at(self, row: SessionRow) -> LiveSession:
        """Give the session as it is now, for reading only."""
        run = self._runs.get(row.id)
        if run is not None:
            return run.live
        return self._idle.get(row.id) or await self._read(row)

    async def resume(self, row: SessionRow) -> None:
        """Go on with the turn that the last process left open, or end it when that was tried too often (S4).

        One that runs already, since its parent went on with it, is left alone.
        """
        async with self.taking_up(row.id):
            if row.id not in self._runs:
                await self._resume(row)

    def taking_up(self, session: SessionId) -> asyncio.Lock:
        """Give the lock that is held while a session's open turn is made, or read, until it runs."""
        return self._taking_up.setdefault(session, asyncio.Lock())

    async def begin(self, row: SessionRow) -> None:
        """Run the turn that a session was made with (G2); `taking_up` is held since before it was made."""
        if row.id not in self._runs:
            live = await self._read(row)
            live.count_turns()
            self.start(live)

    async def _resume(self, row: SessionRow) -> None:
        live = await self._read(row)
        live.count_turns()
        state = live.state
        if state.phase is Phase.IDLE:
            self.keep(live)
            self._let_others_in(live)
            return
        if state.phase is Phase.AWAITING_APPROVAL or state.child is not None:
            # It does nothing but wait, for people or for its child: no restart is one in vain.
            self.start(live)
            return
        if state.resumed >= self._resume_attempts:
            message = f"the service ended {state.resumed} times while it went on with this turn (resume_attempts)"
            await live.append(*of_error(state, ErrorKind.CRASHED, message))
            self.keep(live)
            self._let_others_in(live)
            return
        # A process before this one may have shown some of its text.
        live.times.from_its_start = False
        await live.append(Resumed(attempt=state.resumed + 1))
        self.start(live)

    async def _read(self, row: SessionRow) -> LiveSession:
        live = self._loaded[row.id] = await self._loading.read(row)
        return live

    async def made(self, row: SessionRow, entries: Sequence[Entry]) -> None:
        """Keep a session that was just made with these records, so that its first turn need not read it."""
        live = await self._loading.made(row, entries)
        if row.id not in self._loaded:
            self._loaded[row.id] = live
            self.keep(live)

    def keep(self, live: LiveSession) -> None:
        """Keep an idle session in memory."""
        self._idle[live.id] = live
        self._idle.move_to_end(live.id)
        while len(self._idle) > IDLE_KEPT:
            self._idle.popitem(last=False)

    def forget(self, session: SessionId) -> None:
        """Drop a session from memory."""
        self._idle.pop(session, None)
        self._loaded.pop(session, None)

    def start(self, live: LiveSession) -> None:
        """Run the open turn of this session in a task of its own.

        A service that stops leaves it to the next start (H8), and a session that is being deleted needs none (H9).
        """
        if not self._may_start(live.id):
            return
        assert live.state.turn is not None  # its `user` record is in the log
        run = TurnRun(live, live.state.turn)
        run.task = asyncio.create_task(self._run(run), name=f"turn {run.turn}")
        self._runs[live.id] = run

    async def _run(self, run: TurnRun) -> None:
        live = run.live
        try:
            await self._runner.run(run)
        finally:
            live.span = None
            del self._runs[live.id]
            if live.state.phase is Phase.IDLE:
                self.keep(live)
                self._let_others_in(live)
            live.feed.wake()

    def _let_others_in(self, live: LiveSession) -> None:
        if live.state.queued and self._may_start(live.id):
            self._when_ended(live.id)

    def _may_start(self, session: SessionId) -> bool:
        return not self._shutting_down and session not in self._barred

    @contextmanager
    def barred(self, session: SessionId) -> Generator[None]:
        """Let no further turn of this session start while it is being deleted (H9)."""
        self._barred.add(session)
        try:
            yield
        finally:
            self._barred.discard(session)

    async def cancel(self, session: SessionId, *, within_s: float | None = None) -> None:
        """Cancel the session's turn and wait until it has ended, or no longer than that (T13)."""
        run = self._runs.get(session)
        if run is None:
            return
        run.cancel()
        await run.ended(within_s)

    async def cancel_turn(self, session: SessionId, turn: TurnId) -> None:
        """Cancel this turn, whether it runs or was left open, and wait until it has ended (T13)."""
        while True:
            run = self._runs.get(session)
            if run is not None and run.turn != turn:
                return
            await self.cancel(session)
            async with self.taking_up(session):
                # Nothing runs it any more, unless a start goes on with it at the same moment; its end may be missing,
                # since the store was broken.
                if session not in self._runs:
                    await self._end_cancelled(session, turn)
                    return

    async def _end_cancelled(self, session: SessionId, turn: TurnId) -> None:
        row = await self._log.session(session)
        if row is None or row.status.running != turn:
            return
        live = await self._read(row)
        await self._cancel_child(live)
        if live.state.turn == turn:
            await live.append(*of_cancel(live.state, PartialAnswer()))
            self.keep(live)

    async def _cancel_child(self, live: LiveSession) -> None:
        child = live.state.child
        if child is not None:
            await self.cancel_turn(child.session, child.turn)

    def is_paused(self, live: LiveSession) -> bool:
        """Say whether the session's turn waits for people, itself or through a child (A1, G2)."""
        if live.state.phase is Phase.AWAITING_APPROVAL:
            return True
        child = live.state.child
        run = None if child is None else self._runs.get(child.session)
        return run is not None and child is not None and run.turn == child.turn and self.is_paused(run.live)

    async def shut_down(self, drain_s: float, last_word: Signal) -> None:
        """Give running turns some time, end all followers, and leave what still runs in the log (H8)."""
        self._shutting_down = True
        self._feeds.close_all(last_word)
        for run in self._runs.values():
            # Those who wait for people would wait on: nothing is gained by giving them time.
            if run.task is not None and self.is_paused(run.live):
                run.task.cancel()
        tasks = {run.task for run in self._runs.values() if run.task is not None}
        running = (await asyncio.wait(tasks, timeout=drain_s))[1] if tasks else set[asyncio.Task[None]]()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
