"""What a session's row tells without its log being read; always derived from the log."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from service.core.ids import TurnId
from service.core.records import ChildLink, PendingCall
from service.core.usage import UsageTotals


class SessionState(StrEnum):
    """What a session does now."""

    IDLE = "idle"
    RUNNING = "running"
    AWAITING_APPROVAL = "awaiting_approval"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStatus:
    """A session's state, its turn in progress, its queue, its sums; `used_tokens` fills the context (P7).

    `pending` are the calls of its turn that wait for people; `child` is the session and turn that one of its calls was
    handed over to, while that one is open.
    """

    state: SessionState = SessionState.IDLE
    running: TurnId | None = None
    queued: tuple[TurnId, ...] = ()
    usage: UsageTotals = UsageTotals()
    used_tokens: int = 0
    pending: tuple[PendingCall, ...] = ()
    child: ChildLink | None = None
