"""Finds where a follower begins: its cursor is a `pos` of the store, its place is a `seq` of the session (H6)."""

from __future__ import annotations

from service.core.ids import OwnerId, SessionId, TurnId
from service.core.signals import Resync
from service.core.views import TurnState, TurnView
from service.ports import SessionLog, SessionRow
from service.turns.feed import Feeds
from service.turns.follower import Follower
from service.turns.store_follower import StoreFollower


class Following:
    """Makes followers."""

    def __init__(self, log: SessionLog, feeds: Feeds) -> None:
        self._log = log
        self._feeds = feeds

    async def store(self, owner: OwnerId, after_pos: int | None) -> StoreFollower:
        """Follow all sessions of an owner: from now on, or from behind the cursor."""
        last_pos = await self._log.last_pos()
        resync = Resync(last_pos=last_pos) if after_pos is not None and after_pos > last_pos else None
        after = last_pos if after_pos is None else min(after_pos, last_pos)
        return StoreFollower(self._feeds, self._log, owner, after_pos=after, resync=resync)

    async def session(self, row: SessionRow, after_pos: int | None) -> Follower:
        """Follow all of a session: from its first record on, or from behind the cursor."""
        after_seq = 0 if after_pos is None else await self._seq_at(row.id, after_pos, row.head.seq)
        resync = None if after_pos is None else await self._resync(after_pos)
        return self._follower(row.id, None, after_seq, resync)

    async def turn(self, view: TurnView, after_pos: int | None, *, from_start: bool) -> Follower | None:
        """Follow one turn; None when the cursor stands at or past its `turn_finished`."""
        if after_pos is None:
            return self._follower(view.session, view.id, view.first_seq - 1, None, from_start=from_start)
        after_seq = await self._seq_at(view.session, after_pos, None)
        if view.state is TurnState.FINISHED and after_seq >= view.last_seq:
            return None
        after_seq = max(after_seq, view.first_seq - 1)
        return self._follower(view.session, view.id, after_seq, await self._resync(after_pos))

    async def _seq_at(self, session: SessionId, pos: int, last_seq: int | None) -> int:
        following = await self._log.read(session, after_pos=pos, limit=1)
        if following:
            return following[0].seq - 1
        if last_seq is not None:
            return last_seq
        row = await self._log.session(session)
        return row.head.seq if row is not None else 0

    async def _resync(self, after_pos: int) -> Resync | None:
        last_pos = await self._log.last_pos()
        return Resync(last_pos=last_pos) if after_pos > last_pos else None

    def _follower(
        self,
        session: SessionId,
        turn: TurnId | None,
        after_seq: int,
        resync: Resync | None,
        *,
        from_start: bool = False,
    ) -> Follower:
        feed = self._feeds.of(session)
        return Follower(feed, self._log, after_seq=after_seq, turn=turn, from_start=from_start, resync=resync)
