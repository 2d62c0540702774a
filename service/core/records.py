"""The durable entries of a session's log, as values (DESIGN section 4).

A record says what happened; its envelope (session, turn, seq, time) is an `Entry`. `codec.py` alone knows how
they look as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from service.core.baseline import Baseline, Limits
from service.core.errors import ErrorKind
from service.core.ids import SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.labels import DataClass
from service.core.usage import Timings, UsageTotals


class ToolChoice(StrEnum):
    """Whether the model may, must or must not call tools."""

    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"


class OnToolLimit(StrEnum):
    """What follows the last allowed batch: stop, or ask once more for an answer without calls (T5)."""

    STOP = "stop"
    CONCLUDE = "conclude"


class ResultStatus(StrEnum):
    """How a tool call ended."""

    OK = "ok"
    FAILED = "failed"
    DENIED = "denied"
    REPEATED = "repeated"
    UNKNOWN_TOOL = "unknown_tool"
    BAD_ARGUMENTS = "bad_arguments"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    NOT_RUN = "not_run"


class Outcome(StrEnum):
    """How a turn ended."""

    ANSWERED = "answered"
    TURN_LIMIT = "turn_limit"
    SESSION_FULL = "session_full"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Limit(StrEnum):
    """The limit that ended or shortened a turn."""

    TOOL_ITERATIONS = "tool_iterations"
    REPEATED_CALL = "repeated_call"
    DENIED_REPEATEDLY = "denied_repeatedly"
    MAX_TOKENS = "max_tokens"
    TURN_TIME = "turn_time"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOptions:
    """What a turn was asked to do, with its limits already merged, so that a fold needs no settings."""

    tool_choice: ToolChoice = ToolChoice.AUTO
    on_tool_limit: OnToolLimit = OnToolLimit.STOP
    limits: Limits = Limits()
    response_format: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a batch, as the model made it.

    `call` is the session's own number; `tool_call_id` is what the prompt shows and `model_call_id` what the model
    sent (P4); `arguments` is the model's raw text.
    """

    call: int
    tool_call_id: str
    model_call_id: str | None
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CutCall:
    """A call that was cut off or came unasked: kept for people, never shown to the model (T4)."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnError:
    """Why a turn failed: the ERROR of DESIGN section 3."""

    kind: ErrorKind
    message: str
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTotals:
    """What a fold needs from before a turn: carried by each `turn_finished`."""

    next_call: int = 1
    data_class: DataClass = DataClass.PUBLIC
    untrusted_seen: bool = False
    usage: UsageTotals = UsageTotals()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentLink:
    """The call of another session that a child session answers."""

    session: SessionId
    turn: TurnId
    call: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkLink:
    """Where a fork begins: behind the record `seq` of another session, whose `hash` (hex) covers all before it."""

    session: SessionId
    seq: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCreated:
    """Always `seq` 1: the baseline that never changes."""

    type: ClassVar[str] = "session_created"
    v: int = 1
    agent: str | None
    baseline: Baseline
    parent: ParentLink | None = None
    fork: ForkLink | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnQueued:
    """A user's message that waits for the turns before it; durable, and never in the prompt (H4)."""

    type: ClassVar[str] = "turn_queued"
    content: str
    options: TurnOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A user's message: starts a turn (T1)."""

    type: ClassVar[str] = "user"
    content: str
    options: TurnOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Assistant:
    """What the model said in one step."""

    type: ClassVar[str] = "assistant"
    step: int
    content: str
    reasoning: str
    tool_calls: tuple[ToolCall, ...] = ()
    cut_calls: tuple[CutCall, ...] = ()
    finish_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepUsage:
    """What one completion cost; `discarded` when its text was not kept, `estimated` when the server told none."""

    type: ClassVar[str] = "usage"
    step: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    thinking_capped: bool = False
    timings: Timings = Timings()
    discarded: bool = False
    estimated: bool = False


class CacheLossReason(StrEnum):
    """Why tokens that were in the server's cache had to be evaluated again (P5)."""

    COMPACTED = "compacted"
    SERVER_RESTARTED = "server_restarted"
    TEMPLATE_CHANGED = "template_changed"
    TEMPLATE_REWRITES_HISTORY = "template_rewrites_history"
    SLOT_TAKEN = "slot_taken"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheLoss:
    """A completion found less of its prompt in the server's cache than the one before had left there (P5)."""

    type: ClassVar[str] = "cache_loss"
    step: int
    expected_tokens: int
    cached_tokens: int
    lost_tokens: int
    reason: CacheLossReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A step failed and is tried again; in the log, so that a crash doesn't reset the count (L7)."""

    type: ClassVar[str] = "attempt"
    step: int
    attempt: int
    kind: ErrorKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStarted:
    """A call is about to be sent to the tool port; appended before it is (T6, S4)."""

    type: ClassVar[str] = "tool_call_started"
    call: int
    tool_call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """How a call ended, with the text that the model gets.

    `cap` and `original_bytes` count bytes of UTF-8; `fence` is set on untrusted results (P6). `limit` is set on each
    result of a batch that a limit of the turn kept from running: what follows is no further batch (T5, T7, A4).
    """

    type: ClassVar[str] = "tool_result"
    call: int
    tool_call_id: str
    name: str
    status: ResultStatus
    content: str
    data_class: DataClass = DataClass.PUBLIC
    untrusted: bool = False
    fence: str | None = None
    truncated: bool = False
    original_bytes: int = 0
    cap: int = 0
    limit: Limit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """A restart went on with this turn (S4)."""

    type: ClassVar[str] = "resumed"
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished:
    """The end of a turn: exactly one per turn, always."""

    type: ClassVar[str] = "turn_finished"
    outcome: Outcome
    limit: Limit | None = None
    truncated: bool = False
    error: TurnError | None = None
    content: str | None = None
    steps: int
    usage: UsageTotals
    totals: SessionTotals


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
