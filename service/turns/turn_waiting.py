"""Waits for turns on behalf of callers: until one is over, or waits for people, or has left its session (H1, H4)."""

from __future__ import annotations

import asyncio

from service.core.ids import SessionId, TurnId
from service.core.turn_state import Phase
from service.turns.feed import Feeds
from service.turns.live_sessions import LiveSessions
from service.turns.runner import TurnRun


class TurnWaiting:
    """Watches the sessions in memory; what a caller waits for goes on without it."""

    def __init__(self, live: LiveSessions, feeds: Feeds) -> None:
        self._live = live
        self._feeds = feeds

    async def over(self, session: SessionId, turn: TurnId) -> None:
        """Wait until a turn that runs, or waits in the queue, is over, or waits for people (H1).

        One that still waits when the service stops, or its session goes, is waited for no longer (H8, H9).
        """
        feed = self._feeds.of(session)
        woken = asyncio.Event()
        feed.attach(woken)
        try:
            while self._is_ahead(session, turn):
                woken.clear()
                run = self._live.run_of(session)
                if run is not None and run.turn == turn:
                    await self._changed(run)
                elif feed.closing is not None:
                    return
                else:
                    await woken.wait()
        finally:
            feed.detach(woken)

    async def _changed(self, run: TurnRun) -> None:
        with run.live.watched() as changed:
            waiting = asyncio.create_task(changed.wait())
            try:
                tasks = {waiting} if run.task is None else {waiting, run.task}
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                waiting.cancel()

    def _is_ahead(self, session: SessionId, turn: TurnId) -> bool:
        run = self._live.run_of(session)
        if run is not None and run.turn == turn:
            return not self._live.is_paused(run.live)
        live = self._live.loaded(session)
        return live is not None and (turn in live.state.waiting_turns or live.taking_up == turn)

    async def settled(self, session: SessionId) -> None:
        """Let a turn that is being taken up begin, and one that has written its end leave.

        Who saw that end may ask for the next turn at once.
        """
        async with self._live.taking_up(session):
            pass
        run = self._live.run_of(session)
        if run is not None and run.live.state.phase is Phase.IDLE:
            await run.ended()
