"""What the tool port is asked and what it answers, as values (section 8)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from service.core.ids import SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.labels import DataClass
from service.core.trace_context import TraceContext


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """One tool, checked: `parameters` is a JSON schema whose references stay inside it (X3).

    `local` tools are the service's own; the port never sees their calls.
    """

    name: str
    description: str
    parameters: JsonObject
    title: str | None = None
    needs_approval: bool = False
    acts_outside: bool = False
    repeatable: bool = False
    idempotent: bool = False
    timeout_ms: int = 120_000
    data_class: DataClass = DataClass.PUBLIC
    untrusted: bool = False
    local: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutTool:
    """A tool of the port's list that can't be offered, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DownServer:
    """A server behind the port that the port says is down, and what it says of it."""

    name: str
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallApproval:
    """By whom, why and when a call was approved, as the port is told; `digest` is that of the call (A1b)."""

    by: str
    reason: str | None
    digest: str
    decided_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """One call as the port gets it; `timeout_ms` bounds the whole exchange (X1). `trace` says in whose name."""

    session: SessionId
    turn: TurnId
    call: int
    tool: str
    arguments: JsonObject
    timeout_ms: int
    idempotency_key: str
    trace: TraceContext
    approval: CallApproval | None = None


class AnswerStatus(StrEnum):
    """How the port answered."""

    RESULT = "result"
    FAILED = "failed"
    DENIED = "denied"
    PENDING_APPROVAL = "pending_approval"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """The port's answer as text for the model: a result's content, or the reason of a failure or a denial.

    `cut` says that the body was larger than the cap and `text` is what came before it (X2).
    """

    status: AnswerStatus
    text: str
    data_class: DataClass | None = None
    untrusted: bool | None = None
    cut: bool = False
