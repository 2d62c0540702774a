"""What the model said in a step, and what that cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from service.core.errors import ErrorKind
from service.core.usage import Timings


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
    """What one completion cost; `discarded` when its text was not kept, `estimated` when the server told none.

    `summary` is set on what was spent on a summary that was of no use (C1); it is discarded, too.
    """

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
    summary: bool = False


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
