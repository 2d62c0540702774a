"""What is worth showing but is not durable (DESIGN section 4). Offsets count code points of one step's part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import msgspec

from service.core.errors import ErrorKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """The turn waits for the gate at this place, counted from 1 (L9)."""

    type: ClassVar[str] = "queued"
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The request waits for its first byte: `slot_busy`, `idle` or `loading` (L2)."""

    type: ClassVar[str] = "waiting"
    reason: str
    waited_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Prompt processing, in tokens: `processed` of `total`, `cached` of them from the cache."""

    type: ClassVar[str] = "progress"
    step: int
    processed: int
    cached: int
    total: int
    time_ms: int


# These two are made for each token and reader, at a quarter of what a dataclass takes.
class ReasoningDelta(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A piece of the model's thought."""

    type: ClassVar[str] = "reasoning"
    step: int
    text: str
    offset: int


class ContentDelta(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A piece of the model's answer."""

    type: ClassVar[str] = "content"
    step: int
    text: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """All text so far of the step in flight, for a follower that joins (H6)."""

    type: ClassVar[str] = "partial"
    step: int
    reasoning: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingCapped:
    """The thinking cap was reached (L6)."""

    type: ClassVar[str] = "thinking_capped"
    step: int
    reasoning_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """The step is tried again: forget its deltas (L7)."""

    type: ClassVar[str] = "retrying"
    step: int
    attempt: int
    reason: ErrorKind
    delay_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resync:
    """The follower's cursor lies beyond the store's end (H6)."""

    type: ClassVar[str] = "resync"
    last_pos: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuttingDown:
    """The service stops; come back in a moment (H8)."""

    type: ClassVar[str] = "shutting_down"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDeleted:
    """The session was deleted (H9)."""

    type: ClassVar[str] = "session_deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreBroken:
    """The last record could not be written; the next write tells how the turn ended (S5)."""

    type: ClassVar[str] = "store_error"


Signal = (
    Queued
    | Waiting
    | Progress
    | ReasoningDelta
    | ContentDelta
    | Partial
    | ThinkingCapped
    | Retrying
    | Resync
    | ShuttingDown
    | SessionDeleted
    | StoreBroken
)
"""Every kind of signal that this version sends."""
