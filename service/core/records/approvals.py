"""Calls that wait for a person, and what was decided of them (section 10)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from service.core.ids import SessionId, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A call that waits for a decision: the PENDING of DESIGN section 3.

    `name` and `arguments` (raw text) are those of the tool that would run, also inside a `call_tool` (X4); `digest`
    binds a decision to exactly them (A2). `expires_at` is None when it waits for ever (A6).
    """

    session: SessionId
    turn: TurnId
    call: int
    tool_call_id: str
    name: str
    title: str
    arguments: str
    digest: str
    reason: str
    asked_at: datetime
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSignature:
    """Who signed a decision, by the name of an approver's key, and the signature in base64url (A5)."""

    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested:
    """Calls of the open batch wait for a person, and the turn with them (A1)."""

    type: ClassVar[str] = "approval_requested"
    calls: tuple[PendingCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDecided:
    """A person has decided; `arguments` are the raw text to run the call with in place of the model's (A2)."""

    type: ClassVar[str] = "approval_decided"
    call: int
    approved: bool
    digest: str
    arguments: str | None = None
    by: str
    reason: str | None = None
    signature: DecisionSignature | None = None
