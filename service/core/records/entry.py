"""All kinds of records, and a record with its place in a log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from service.core.ids import SessionId, TurnId
from service.core.records.approvals import ApprovalDecided, ApprovalRequested
from service.core.records.calls import ToolCallStarted, ToolResult
from service.core.records.completions import Assistant, Attempt, CacheLoss, StepUsage
from service.core.records.handoffs import HandoffReturned, HandoffStarted
from service.core.records.summaries import Summary
from service.core.records.turns import Resumed, SessionCreated, TurnFinished, TurnQueued, User

Record = (
    SessionCreated
    | TurnQueued
    | User
    | Assistant
    | StepUsage
    | CacheLoss
    | Attempt
    | ToolCallStarted
    | ToolResult
    | ApprovalRequested
    | ApprovalDecided
    | HandoffStarted
    | HandoffReturned
    | Summary
    | Resumed
    | TurnFinished
)
"""Every kind of record that this version writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A record with its place in one session's log: `seq` counts from 1 without gaps; `time` is UTC."""

    session: SessionId
    turn: TurnId | None
    seq: int
    time: datetime
    record: Record
