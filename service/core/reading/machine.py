"""What a reading does next, and what is kept of a chunk: Algorithm 1 of GRU-Mem (arXiv 2602.10560).

With question Q, chunks C_1 to C_T and memory M_0 = none the model gives U_t, M'_t, E_t for Q, C_t and M_(t-1);
M_t is M'_t where U_t, and M_(t-1) byte for byte where not; E_t ends the pass where the exit gate counts; the answer
comes out of Q and M_T. Above: the runner of readings. Below: the fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from service.core.reading.options import ExitMode
from service.core.reading.records import (
    BudgetExceeded,
    Evidence,
    GateSet,
    MemoryWritten,
    ParseFailed,
    ReadingOutcome,
    ReadingRecord,
    RunEnd,
)
from service.core.reading.reply import CandidateCut, Gates, NotParsed, Reply
from service.core.reading.state import ALL_DOCUMENTS, Memory, ReadingLogState, RunKey, key_of
from service.core.records.outcomes import TurnError


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is read in one chunk: `start` to `end` of a document's text, or `text`, the memory of a document.

    `chunk` counts from 1 within its run, which has `chunks` of them.
    """

    level: int
    document: int
    chunk: int
    chunks: int
    start: int
    end: int
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Find out where the chunks end."""


@dataclass(frozen=True, slots=True)
class ReadChunks:
    """Read these, which do not wait for one another: the next one of each run."""

    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """Ask for the answer out of this memory."""

    memory: Memory


@dataclass(frozen=True, slots=True)
class End:
    """Nothing is left but to say how it ended."""

    outcome: ReadingOutcome


Step = Plan | ReadChunks | WriteAnswer | End


def next_step(state: ReadingLogState) -> Step | None:
    """Say what comes next; None when the reading has ended."""
    if state.ended is not None:
        return None
    if state.planned is None:
        return Plan()
    sources = open_sources(state)
    if sources:
        return ReadChunks(sources)
    memory = final_memory(state)
    if memory is None:
        # Nothing was of use: an answer would be invented (R10).
        return End(ReadingOutcome.NOT_FOUND)
    return WriteAnswer(memory) if state.answered is None else End(ReadingOutcome.ANSWERED)


def open_sources(state: ReadingLogState) -> tuple[Source, ...]:
    """Give the next chunk of each run that goes on; those of level 2 only when level 1 is through."""
    for level in range(1, state.created.options.level + 1):
        found = [source for key in _runs_of(state, level) if (source := next_source(state, key)) is not None]
        if found:
            return tuple(found)
    return ()


def _runs_of(state: ReadingLogState, level: int) -> Sequence[RunKey]:
    if level > 1:
        return [(level, ALL_DOCUMENTS)]
    return [(level, document) for document in range(1, len(state.created.documents) + 1)]


def next_source(state: ReadingLogState, key: RunKey) -> Source | None:
    """Give the next chunk of one run; None when it is through."""
    run = state.run(key)
    if run.exited:
        return None
    level, document = key
    return _chunk_at(state, document, run.seen) if level == 1 else _memory_at(state, level, run.seen)


def _chunk_at(state: ReadingLogState, document: int, index: int) -> Source | None:
    assert state.planned is not None  # nothing is read before
    ends = state.planned.ends[document - 1]
    if index >= len(ends):
        return None
    start = ends[index - 1] if index > 0 else 0
    return Source(level=1, document=document, chunk=index + 1, chunks=len(ends), start=start, end=ends[index])


def _memory_at(state: ReadingLogState, level: int, index: int) -> Source | None:
    below = ((document, state.run((level - 1, document)).memory) for _, document in _runs_of(state, level - 1))
    found = [(document, memory) for document, memory in below if memory is not None]
    if index >= len(found):
        return None
    document, memory = found[index]
    return Source(
        level=level,
        document=document,
        chunk=index + 1,
        chunks=len(found),
        start=0,
        end=len(memory.text.encode()),
        text=memory.text,
    )


def open_chunks(state: ReadingLogState) -> int:
    """Count what is left to be read at most, over all levels; 0 until the chunks are known."""
    if state.planned is None:
        return 0
    left, with_memory = 0, 0
    for document, ends in enumerate(state.planned.ends, start=1):
        run = state.run((1, document))
        left_here = 0 if run.exited else len(ends) - run.seen
        left += left_here
        with_memory += left_here > 0 or run.memory is not None
    above = state.run((2, ALL_DOCUMENTS))
    return left if state.created.options.level == 1 or above.exited else left + with_memory - above.seen


def final_memory(state: ReadingLogState) -> Memory | None:
    """Give the memory that the answer comes from: that of the topmost level."""
    level = state.created.options.level
    return state.run((level, 1 if level == 1 else ALL_DOCUMENTS)).memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The last reply about a chunk, after `attempts` of them.

    `candidate_tokens` counts the candidate memory, None where there is none; the probabilities are those of what was
    written, None where the server did not tell.
    """

    reply: Reply
    attempts: int = 1
    candidate_tokens: int | None = None
    update_probability: float | None = None
    exit_probability: float | None = None
    draft_probability: float | None = None


def chunk_records(state: ReadingLogState, source: Source, chunk_sha256: str, heard: Heard) -> tuple[ReadingRecord, ...]:
    """Give what is kept of a chunk that is wholly resolved, but for what it cost; `chunk_sha256` is its text's."""
    match heard.reply:
        case NotParsed(reason=reason):
            return (_parse_failed(source, heard.attempts, reason),)
        case CandidateCut():
            return (_exceeded(source, None, state.created.options.memory_budget),)
        case Gates() as gates:  # pragma: no branch - the type checker sees that no kind is left
            return _gates_records(state, source, gates, heard, chunk_sha256)


def _gates_records(
    state: ReadingLogState, source: Source, gates: Gates, heard: Heard, chunk_sha256: str
) -> tuple[ReadingRecord, ...]:
    budget, before = state.created.options.memory_budget, state.run(key_of(source.level, source.document)).memory
    if gates.candidate is None:
        return (_gate(state, source, gates, heard, has_memory=before is not None),)
    tokens = heard.candidate_tokens
    assert tokens is not None  # a candidate was counted
    if tokens > budget:
        gate = _gate(state, source, gates, heard, has_memory=before is not None)
        return (gate, _exceeded(source, tokens, budget))
    memory = _memory(source, gates.candidate, tokens, chunk_sha256, before)
    return (_gate(state, source, gates, heard, has_memory=True), _evidence(source, chunk_sha256), memory)


def _parse_failed(source: Source, attempts: int, reason: str) -> ParseFailed:
    return ParseFailed(
        level=source.level, document=source.document, chunk=source.chunk, attempts=attempts, reason=reason
    )


def _gate(state: ReadingLogState, source: Source, gates: Gates, heard: Heard, *, has_memory: bool) -> GateSet:
    acted_on = state.created.options.exit is ExitMode.ASKED
    return GateSet(
        level=source.level,
        document=source.document,
        chunk=source.chunk,
        update=gates.update,
        exit=gates.exit,
        update_probability=heard.update_probability,
        exit_probability=heard.exit_probability,
        exit_refused=acted_on and gates.exit and not has_memory,
        draft=gates.draft,
        draft_probability=heard.draft_probability,
    )


def _exceeded(source: Source, tokens: int | None, budget: int) -> BudgetExceeded:
    return BudgetExceeded(
        level=source.level, document=source.document, chunk=source.chunk, tokens=tokens, budget=budget
    )


def _evidence(source: Source, chunk_sha256: str) -> Evidence:
    return Evidence(
        level=source.level - 1, document=source.document, start=source.start, end=source.end, sha256=chunk_sha256
    )


def _memory(source: Source, text: str, tokens: int, chunk_sha256: str, before: Memory | None) -> MemoryWritten:
    return MemoryWritten(
        level=source.level,
        document=source.document,
        chunk=source.chunk,
        text=text,
        tokens=tokens,
        sha256=sha256(text.encode()).hexdigest(),
        parents=(chunk_sha256,) if before is None else (chunk_sha256, before.sha256),
    )


def run_end(state: ReadingLogState, outcome: ReadingOutcome, error: TurnError | None = None) -> RunEnd:
    """Give the last record of a reading as far as it has come."""
    memory = final_memory(state)
    return RunEnd(
        level=state.created.options.level,
        outcome=outcome,
        error=error,
        chunks_seen=state.chunks_seen,
        chunks_used=state.chunks_used,
        calls=state.calls,
        exits_refused=state.exits_refused,
        final_memory_sha=None if memory is None else memory.sha256,
        usage=state.usage,
    )
