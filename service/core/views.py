"""What clients are shown of sessions and turns: derived from the log, never stored (DESIGN section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from service.core.baseline import Baseline
from service.core.ids import OwnerId, SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.records import ChildLink, ForkLink, Limit, Outcome, ParentLink, PendingCall, TurnError
from service.core.session_status import SessionStatus
from service.core.usage import UsageTotals


class TurnState(StrEnum):
    """Where a turn is, as clients see it."""

    QUEUED = "queued"
    RUNNING = "running"
    AWAITING_APPROVAL = "awaiting_approval"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """A turn resource; `content` is the answer (or what came of it), None while there is none.

    `child` is the turn that answers one of its calls now; what that one waits for, this one waits for.
    """

    id: TurnId
    session: SessionId
    state: TurnState
    created_at: datetime
    finished_at: datetime | None
    outcome: Outcome | None
    limit: Limit | None
    truncated: bool
    error: TurnError | None
    content: str | None
    steps: int
    usage: UsageTotals
    pending: tuple[PendingCall, ...]
    child: ChildLink | None
    first_seq: int
    last_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFill:
    """How full the session's context is, in tokens; `size_tokens` is None while the server is unknown (P7)."""

    used_tokens: int
    size_tokens: int | None
    fill: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """A session resource."""

    id: SessionId
    title: str
    metadata: JsonObject
    owner: OwnerId
    created_at: datetime
    updated_at: datetime
    agent: str | None
    parent: ParentLink | None
    fork: ForkLink | None
    baseline: Baseline
    status: SessionStatus
    last_seq: int
    context: ContextFill


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptView:
    """What the model would be sent now: messages and tool specs in the form of P1."""

    messages: tuple[JsonObject, ...]
    tools: tuple[JsonObject, ...]
