"""What a session's row tells without its log being read; always derived from the log."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from service.core.ids import TurnId
from service.core.usage import UsageTotals


class SessionState(StrEnum):
    """What a session does now."""

    IDLE = "idle"
    RUNNING = "running"
    AWAITING_APPROVAL = "awaiting_approval"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStatus:
    """A session's state, its turn in progress, its queue, its sums; `used_tokens` fills the context (P7)."""

    state: SessionState = SessionState.IDLE
    running: TurnId | None = None
    queued: tuple[TurnId, ...] = ()
    usage: UsageTotals = UsageTotals()
    used_tokens: int = 0
