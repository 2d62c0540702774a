"""What the turns that have not ended do at this moment, counted; asked in the loop, and nothing is read for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from service.ports import Clock
from service.turns.live_sessions import LiveSessions


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTurnsNow:
    """How many turns there are of each kind, and the calls of theirs that wait for people."""

    running: int
    awaiting_approval: int
    queued: int
    approvals_pending: int
    oldest_approval_age_s: float


class OpenWork:
    """Looks at the turns in memory, which are all that have not ended."""

    def __init__(self, live: LiveSessions, clock: Clock) -> None:
        self._live = live
        self._clock = clock

    def now(self) -> OpenTurnsNow:
        """Count them; the call of a child is its own and not its parent's once more."""
        running = paused = queued = 0
        asked_at: list[datetime] = []
        for live in self._live.in_progress():
            if self._live.is_paused(live):
                paused += 1
            else:
                running += 1
            queued += len(live.state.queued)
            asked_at += [call.asked.asked_at for call in live.state.pending_calls if call.asked is not None]
        now = self._clock.now()
        return OpenTurnsNow(
            running=running,
            awaiting_approval=paused,
            queued=queued,
            approvals_pending=len(asked_at),
            oldest_approval_age_s=max(0.0, (now - min(asked_at)).total_seconds()) if asked_at else 0.0,
        )
