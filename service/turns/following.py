"""Finds where a follower begins: its cursor is a `pos` of the store (H6)."""

from __future__ import annotations

from service.core.ids import OwnerId, SessionId, TurnId
from service.core.signals import Resync
from service.core.views import TurnState, TurnView
from service.ports import SessionLog, SessionRow
from service.turns.feed import Feeds
from service.turns.follower import Follower
from service.turns.live_sessions import LiveSessions
from service.turns.store_follower import StoreFollower


class Following:
    """Makes followers."""

    def __init__(self, log: SessionLog, feeds: Feeds, live: LiveSessions) -> None:
        self._log = log
        self._feeds = feeds
        self._live = live

    async def store(self, owner: OwnerId, after_pos: int | None) -> StoreFollower:
        """Follow all sessions of an owner: from now on, or from behind the cursor."""
        place, resync = await self._place(after_pos)
        after = await self._log.last_pos() if place is None else place
        return StoreFollower(self._feeds, self._log, owner, after_pos=after, resync=resync)

    async def session(self, row: SessionRow, after_pos: int | None) -> Follower:
        """Follow all of a session and its children: from its first record on, or from behind the cursor."""
        place, resync = await self._place(after_pos)
        return Follower(self._feeds.of(row.id), self._log, after_pos=place, resync=resync)

    async def turn(self, view: TurnView, after_pos: int | None, *, until_pause: bool) -> Follower | None:
        """Follow one turn; None when the cursor stands at or past its `turn_finished`.

        `until_pause` is for the stream of a request that has begun the turn, or that has let it go on behind the
        cursor: it tells every delta from there on and ends when the turn waits for a person, or ends.
        """
        if after_pos is not None and await self._is_over(view, after_pos):
            return None
        place, resync = await self._place(after_pos)
        return Follower(
            self._feeds.of(view.session),
            self._log,
            after_pos=place,
            turn=view.id,
            first_seq=view.first_seq,
            until_pause=until_pause,
            resync=resync,
        )

    def begun(self, session: SessionId, turn: TurnId) -> Follower | None:
        """Follow a turn that runs from its first record on, until it waits for a person or ends.

        For the request that has begun it: nothing need be read to find that record. None where it must be.
        """
        run = self._live.run_of(session)
        if run is None or run.turn != turn or run.live.begun_at is None:
            return None
        feed, first_seq = run.live.feed, run.live.begun_at
        return Follower(feed, self._log, after_pos=None, turn=turn, first_seq=first_seq, until_pause=True)

    async def _is_over(self, view: TurnView, after_pos: int) -> bool:
        if view.state is not TurnState.FINISHED:
            return False
        return not await self._log.read(view.session, turn=view.id, after_pos=after_pos, limit=1)

    async def _place(self, after_pos: int | None) -> tuple[int | None, Resync | None]:
        if after_pos is None:
            return None, None
        cursor = await self._log.cursor(after_pos)
        return (cursor.last_pos, Resync(last_pos=cursor.last_pos)) if cursor.is_lost else (after_pos, None)
