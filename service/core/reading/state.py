"""What a reading's records say: the fold of its log, like a turn's.

A *run* is one pass of the loop: over the chunks of one document at level 1, over the documents' memories at level 2.
The level is a parameter of it and of nothing else (R6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from service.core.reading.options import ExitMode
from service.core.reading.records import (
    AnswerGiven,
    BudgetExceeded,
    Evidence,
    GateSet,
    MemoryWritten,
    ParseFailed,
    ReadingCreated,
    ReadingPlanned,
    ReadingRecord,
    ReadingUsage,
    RunEnd,
)
from service.core.usage import UsageTotals

SURE = 0.995
"""How probable a draft answer must be to count as sure (R11)."""

SURE_CHUNKS = 3
"""For how many chunks in a row it must be so, and the same (R11)."""

ALL_DOCUMENTS = 0
"""In a run's key: the run that reads the memories of all documents."""

RunKey = tuple[int, int]
"""The level of a run, and the document that it reads, or `ALL_DOCUMENTS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory and its SHA-256 in hex, of its UTF-8 text."""

    text: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How far one pass is: `memory` None is the initial memory; `exited` when a gate that counts has ended it.

    `leaving` is what the gate of a chunk says that is not closed yet.
    """

    memory: Memory | None = None
    seen: int = 0
    used: int = 0
    leaving: bool = False
    exited: bool = False
    draft: str | None = None
    sure_for: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLogState:
    """All of a reading: `answered` and `ended` are its last records, once they are there."""

    created: ReadingCreated
    planned: ReadingPlanned | None = None
    runs: Mapping[RunKey, Run] = field(default_factory=dict[RunKey, Run])
    calls: int = 0
    exits_refused: int = 0
    usage: UsageTotals = UsageTotals()
    answered: AnswerGiven | None = None
    ended: RunEnd | None = None

    def run(self, key: RunKey) -> Run:
        """Give a run as far as it is; one that has not begun is at its beginning."""
        return self.runs.get(key, Run())

    @property
    def chunks_seen(self) -> int:
        """Chunks and memories that were read, over all levels."""
        return sum(run.seen for run in self.runs.values())

    @property
    def chunks_used(self) -> int:
        """Those of them that changed a memory."""
        return sum(run.used for run in self.runs.values())


def key_of(level: int, document: int) -> RunKey:
    """Give the run that a record belongs to."""
    return (level, document if level == 1 else ALL_DOCUMENTS)


def fold(records: Iterable[ReadingRecord]) -> ReadingLogState:
    """Fold a log from its first record on."""
    stream = iter(records)
    created = next(stream)
    assert isinstance(created, ReadingCreated)  # always seq 1
    state = ReadingLogState(created=created)
    for record in stream:
        state = apply(state, record)
    return state


def apply(state: ReadingLogState, record: ReadingRecord) -> ReadingLogState:
    """Take one more record."""
    match record:
        case ReadingPlanned():
            return replace(state, planned=record)
        case AnswerGiven():
            return replace(state, answered=record)
        case RunEnd():
            return replace(state, ended=record)
        case ReadingUsage():
            spent = replace(state, calls=state.calls + record.usage.completions, usage=state.usage + record.usage)
            return spent if record.document is None else _in_run(spent, record.level, record.document, record)
        case GateSet():
            refused = state.exits_refused + record.exit_refused
            return _in_run(replace(state, exits_refused=refused), record.level, record.document, record)
        case MemoryWritten() | BudgetExceeded() | ParseFailed():
            return _in_run(state, record.level, record.document, record)
        case Evidence() | ReadingCreated():  # pragma: no branch - the type checker sees that no kind is left
            return state


_OfRun = GateSet | MemoryWritten | BudgetExceeded | ParseFailed | ReadingUsage


def _in_run(state: ReadingLogState, level: int, document: int, record: _OfRun) -> ReadingLogState:
    key = key_of(level, document)
    run = _advance(state.run(key), record, state.created.options.exit)
    return replace(state, runs={**state.runs, key: run})


def _advance(run: Run, record: _OfRun, mode: ExitMode) -> Run:
    match record:
        case MemoryWritten():
            return replace(run, memory=Memory(text=record.text, sha256=record.sha256), used=run.used + 1)
        case GateSet():
            return _drafted(replace(run, leaving=mode is ExitMode.ASKED and record.exit), record)
        case ParseFailed():
            return replace(run, draft=None, sure_for=0)
        case BudgetExceeded():
            # Cut before it ended: there was no gate, so nothing was said of an answer.
            return replace(run, draft=None, sure_for=0) if record.tokens is None else run
        case ReadingUsage():  # pragma: no branch - the type checker sees that no kind is left
            measured = mode is ExitMode.MEASURED and run.sure_for >= SURE_CHUNKS
            # An exit on an empty memory is refused (R4).
            exited = (run.leaving or measured) and run.memory is not None
            return replace(run, seen=run.seen + 1, leaving=False, exited=exited)


def _drafted(run: Run, gate: GateSet) -> Run:
    draft = (gate.draft or "").strip()
    if not draft or gate.draft_probability is None or gate.draft_probability < SURE:
        return replace(run, draft=None, sure_for=0)
    return replace(run, draft=draft, sure_for=run.sure_for + 1 if draft == run.draft else 1)
