"""The records of a reading (R2). What belongs to one chunk is appended together, closed by its `usage` (R5).

`document` counts from 1; `chunk` counts from 1 within what is read: the chunks of a document at level 1, the
memories of the documents at level 2. Offsets are bytes of the document's UTF-8 text; hashes are SHA-256 in hex.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from service.core.ids import ReadingId
from service.core.reading.options import ReadingOptions
from service.core.records.outcomes import TurnError
from service.core.usage import UsageTotals


class ReadingOutcome(StrEnum):
    """How a reading ended."""

    ANSWERED = "answered"
    NOT_FOUND = "not_found"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """A document that is to be read: `bytes` and `sha256` are those of its text in UTF-8."""

    name: str
    media_type: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingCreated:
    """Always `seq` 1."""

    type: ClassVar[str] = "reading_created"
    v: int = 1
    query: str
    documents: tuple[ReadDocument, ...]
    options: ReadingOptions
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingPlanned:
    """Where the chunks end, and with what they were planned: another of these and the reading can't go on (R5).

    `ends` holds, for each document, the offset behind each of its chunks. `prompt` is the version of our prompts,
    `template` the hash of the server's. Sizes are tokens; `answer_tokens` bounds what the model may write in a call.
    """

    type: ClassVar[str] = "reading_planned"
    model: str | None
    template: str
    prompt: int
    context_tokens: int
    chunk_tokens: int
    answer_tokens: int
    fence: str
    ends: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSet:
    """What the model said of a chunk that parsed; kept always, also when nothing acts on it (R2).

    A probability is that of the value that was written, None where the server did not tell. `exit_refused` says that
    an exit was asked for on an empty memory (R4). `draft` is the answer so far and how sure it is, with `measured`.
    """

    type: ClassVar[str] = "gate"
    level: int
    document: int
    chunk: int
    update: bool
    exit: bool
    update_probability: float | None = None
    exit_probability: float | None = None
    exit_refused: bool = False
    draft: str | None = None
    draft_probability: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The text that changed the memory: a part of a document at level 0, the memory of a document at level 1."""

    type: ClassVar[str] = "evidence"
    level: int
    document: int
    start: int
    end: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryWritten:
    """A new memory; `parents` are the hashes of its evidence and of the memory before, if there was one."""

    type: ClassVar[str] = "memory"
    level: int
    document: int
    chunk: int
    text: str
    tokens: int
    sha256: str
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetExceeded:
    """A candidate memory that was too long, so the memory stays as it was (R3).

    `tokens` is None when it was cut before it ended; then there is no gate either.
    """

    type: ClassVar[str] = "budget_exceeded"
    level: int
    document: int
    chunk: int
    tokens: int | None
    budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseFailed:
    """The model never gave what was asked for; the memory stays as it was (R4)."""

    type: ClassVar[str] = "parse_failed"
    level: int
    document: int
    chunk: int
    attempts: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingUsage:
    """What a chunk cost, or the answer (`document` and `chunk` are null): closes the records of it."""

    type: ClassVar[str] = "usage"
    level: int
    document: int | None
    chunk: int | None
    usage: UsageTotals


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerGiven:
    """The answer out of the last memory, whose hash is `memory`."""

    type: ClassVar[str] = "answer"
    level: int
    content: str
    memory: str
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """The end of a reading: exactly one, always. Numbers are sums over all levels."""

    type: ClassVar[str] = "run_end"
    level: int
    outcome: ReadingOutcome
    error: TurnError | None = None
    chunks_seen: int
    chunks_used: int
    calls: int
    exits_refused: int
    final_memory_sha: str | None
    usage: UsageTotals


ReadingRecord = (
    ReadingCreated
    | ReadingPlanned
    | GateSet
    | Evidence
    | MemoryWritten
    | BudgetExceeded
    | ParseFailed
    | ReadingUsage
    | AnswerGiven
    | RunEnd
)
"""Every kind of record of a reading that this version writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingEntry:
    """A record with its place in a reading's log: `seq` counts from 1 without gaps; `time` is UTC."""

    reading: ReadingId
    seq: int
    time: datetime
    record: ReadingRecord
