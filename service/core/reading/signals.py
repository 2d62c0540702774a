"""What is worth showing of a reading and not durable (R2); `document` and `chunk` are null of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from service.core.errors import ErrorKind
from service.core.signals import Queued, Resync, ShuttingDown, StoreBroken, Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkStarted:
    """A chunk is being read: one of `chunks` in its pass."""

    type: ClassVar[str] = "chunk_started"
    level: int
    document: int
    chunk: int
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingText:
    """A piece of what the model writes; `offset` counts the code points before it in this reply."""

    type: ClassVar[str] = "content"
    level: int
    document: int | None
    chunk: int | None
    text: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialReply:
    """What has come of a reply, on joining it in flight (H6)."""

    type: ClassVar[str] = "partial"
    level: int
    document: int | None
    chunk: int | None
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAgain:
    """A reply did not parse, or an attempt failed: forget its text. `reason` is a clause or a kind of error."""

    type: ClassVar[str] = "retrying"
    level: int
    document: int | None
    chunk: int | None
    attempt: int
    reason: ErrorKind | str
    delay_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingProgress:
    """How far it is over all levels; `chunks` is what is known to be read at most.

    Seconds and rates are of this run of the service; null until there is a chunk to go by.
    """

    type: ClassVar[str] = "progress"
    chunks_seen: int
    chunks: int
    tokens_per_second: float | None
    left_s: float | None


ReadingSignal = (
    ChunkStarted
    | ReadingText
    | PartialReply
    | AskedAgain
    | ReadingProgress
    | Queued
    | Waiting
    | Resync
    | ShuttingDown
    | StoreBroken
)
"""Every kind of signal of a reading; those of turns mean here what they mean there."""
