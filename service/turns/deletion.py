"""Removes sessions, with whatever runs in them and whoever follows them (H9, S7)."""

from __future__ import annotations

from service.core.ids import SessionId
from service.core.signals import SessionDeleted
from service.ports import SessionLog
from service.turns.feed import Feeds
from service.turns.live_sessions import LiveSessions
from service.turns.open_turns import OpenTurns

# How long a delete waits for the turn that it cancels, in seconds (H9).
CANCEL_WAIT_S = 10.0


class SessionDeletion:
    """Knows which sessions are just going: nobody finds them any more."""

    def __init__(self, log: SessionLog, live: LiveSessions, feeds: Feeds, open_turns: OpenTurns) -> None:
        self._log = log
        self._live = live
        self._feeds = feeds
        self._open_turns = open_turns
        self._going: set[SessionId] = set()

    def is_going(self, session: SessionId) -> bool:
        """Say whether a session is being deleted now."""
        return session in self._going

    async def delete(self, session: SessionId) -> None:
        """Cancel what runs, end the followers, and remove the session with all that it kept, its children too."""
        self._going.add(session)
        try:
            with self._live.barred(session):
                # What does not end in this time loses its log, and all that it writes then is refused.
                await self._live.cancel(session, within_s=CANCEL_WAIT_S)
                removed = await self._log.delete_session(session)
            for gone in removed or (session,):
                self.removed(gone)
        finally:
            self._going.discard(session)

    def removed(self, session: SessionId) -> None:
        """Take note that the store removed an idle session: its followers end."""
        self._live.forget(session)
        self._open_turns.forget(session)
        self._feeds.close_one(session, SessionDeleted())
