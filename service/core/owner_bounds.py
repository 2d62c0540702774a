"""How much one owner may have at the same time, and how one who has that much is told so (K3).

Pure. Above: who counts, the store for sessions and `access.owner_places` for the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from service.core.errors import ProblemCode, RequestRefused

# When it is worth the while to ask again, in seconds: turns end soon, readings take minutes, and sessions stay until
# somebody removes them.
TURNS_RETRY_S = 1
READINGS_RETRY_S = 10
SESSIONS_RETRY_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerBounds:
    """The settings `sessions_per_owner`, `turns_per_owner` and `readings_per_owner`; 0 means no bound.

    Sessions are all that the owner has, those that handoffs made among them; turns are those that have not ended,
    wherever they wait; readings are those that go on.
    """

    sessions: int = 0
    turns: int = 0
    readings: int = 0

    def check_turns(self, unfinished: int, *, replaced: int = 0) -> None:
        """See whether an owner of so many unfinished turns may have one more, in whose place so many of them end.

        Raises:
            RequestRefused: queue_full.
        """
        if self.turns and unfinished - replaced >= self.turns:
            raise RequestRefused(
                ProblemCode.QUEUE_FULL,
                f"You have {self.turns} turns that have not ended, over all sessions (turns_per_owner). Send the "
                "message again when one of them has ended, or cancel one.",
                retry_after_s=TURNS_RETRY_S,
            )

    def check_readings(self, unfinished: int) -> None:
        """See whether an owner of so many unfinished readings may begin one more.

        Raises:
            RequestRefused: queue_full.
        """
        if self.readings and unfinished >= self.readings:
            raise RequestRefused(
                ProblemCode.QUEUE_FULL,
                f"You have {self.readings} readings that have not ended (readings_per_owner). Ask again when one of "
                "them has ended, or cancel one.",
                retry_after_s=READINGS_RETRY_S,
            )

    def too_many_sessions(self) -> RequestRefused:
        """Give the refusal of a session beyond the bound."""
        return RequestRefused(
            ProblemCode.RATE_LIMITED,
            f"You have {self.sessions} sessions, as many as are allowed (sessions_per_owner). Delete some that you "
            "need no more, or have old ones pruned (retention_days), then ask again.",
            retry_after_s=SESSIONS_RETRY_S,
        )
