"""The durable entries of a session's log, as values (DESIGN section 4).

A record says what happened; its envelope (session, turn, seq, time) is an `Entry`. `codec.py` alone knows how
they look as JSON.
"""

from service.core.records.approvals import ApprovalDecided, ApprovalRequested, DecisionSignature, PendingCall
from service.core.records.calls import ToolCallStarted, ToolResult
from service.core.records.completions import (
    Assistant,
    Attempt,
    CacheLoss,
    CacheLossReason,
    CutCall,
    StepUsage,
    ToolCall,
)
from service.core.records.entry import Entry, Record
from service.core.records.handoffs import ChildLink, HandoffReturned, HandoffStarted
from service.core.records.options import OnToolLimit, ToolChoice, TurnOptions
from service.core.records.outcomes import Limit, Outcome, ResultStatus, TurnError
from service.core.records.summaries import Summary
from service.core.records.turns import (
    ForkLink,
    ParentLink,
    Resumed,
    SessionCreated,
    SessionTotals,
    TurnFinished,
    TurnQueued,
    User,
)

__all__ = [
    "ApprovalDecided",
    "ApprovalRequested",
    "Assistant",
    "Attempt",
    "CacheLoss",
    "CacheLossReason",
    "ChildLink",
    "CutCall",
    "DecisionSignature",
    "Entry",
    "ForkLink",
    "HandoffReturned",
    "HandoffStarted",
    "Limit",
    "OnToolLimit",
    "Outcome",
    "ParentLink",
    "PendingCall",
    "Record",
    "ResultStatus",
    "Resumed",
    "SessionCreated",
    "SessionTotals",
    "StepUsage",
    "Summary",
    "ToolCall",
    "ToolCallStarted",
    "ToolChoice",
    "ToolResult",
    "TurnError",
    "TurnFinished",
    "TurnOptions",
    "TurnQueued",
    "User",
]
