"""Whether the records of a reading agree with each other and with the texts that were read (R8).

Above: whoever checks a log, which has made sure that the records are those that were appended. Below: the fold and the
machine of readings, which say what may come next.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from service.core.kept_documents import DocumentText
from service.core.reading.machine import Source, final_memory, next_source, next_step, open_sources, run_end
from service.core.reading.records import (
    AnswerGiven,
    BudgetExceeded,
    Evidence,
    GateSet,
    MemoryWritten,
    ParseFailed,
    ReadingCreated,
    ReadingOutcome,
    ReadingPlanned,
    ReadingRecord,
    ReadingUsage,
    RunEnd,
)
from service.core.reading.state import ReadingLogState, apply, fold, key_of

_OfChunk = GateSet | Evidence | MemoryWritten | BudgetExceeded | ParseFailed


class ReadingTrail:
    """Takes the records of one log in order; `text` reads the documents.

    A log that ends between two records of a chunk, or without its end, is incomplete, which is no fault (R5).
    """

    def __init__(self, text: DocumentText) -> None:
        self._text = text
        self._state: ReadingLogState | None = None
        self._group: list[_OfChunk] = []
        # Behind what the answer cost, or what a chunk cost that could not be read, nothing comes but the end.
        self._is_last = False

    def fault_of(self, record: ReadingRecord) -> str | None:
        """Say in a clause what is wrong with the next record; None when nothing is."""
        state = self._state
        if state is None:
            if not isinstance(record, ReadingCreated):
                return f"a reading begins with {ReadingCreated.type}, not with {record.type}"
            self._state = fold([record])
            return None
        fault = self._fault(state, record)
        if fault is None:
            self._state = apply(state, record)
        return fault

    def _fault(self, state: ReadingLogState, record: ReadingRecord) -> str | None:
        if state.ended is not None:
            return "there is a record behind the end of the reading"
        if self._is_last and not isinstance(record, RunEnd):
            return "there is a record behind the last one before the end"
        match record:
            case ReadingCreated():
                return "a reading is created once"
            case ReadingPlanned():
                return _plan_fault(state, record)
            case RunEnd():
                return self._unless_open(lambda: _end_fault(state, record))
            case AnswerGiven():
                return self._unless_open(lambda: _answer_fault(state, record))
            case ReadingUsage(document=None):
                self._is_last = True
                return self._unless_open(lambda: None)
            case _:
                return (
                    "nothing is read before its chunks are planned"
                    if state.planned is None
                    else self._of_chunk(state, record)
                )

    def _unless_open(self, check: Callable[[], str | None]) -> str | None:
        return "the records of a chunk have no usage that closes them" if self._group else check()

    def _of_chunk(self, state: ReadingLogState, record: _OfChunk | ReadingUsage) -> str | None:
        if isinstance(record, ReadingUsage):
            return self._close(record)
        if isinstance(record, Evidence):
            fault = self._evidence_fault(state, record)
        else:
            source = _next_source(state, record.level, record.document)
            here = (record.document, record.chunk)
            if source is None or (source.document, source.chunk) != here:
                fault = f"chunk {record.chunk} of document {record.document} at level {record.level} is not the next"
            else:
                fault = self._content_fault(state, record)
        if fault is None:
            self._group.append(record)
        return fault

    def _content_fault(self, state: ReadingLogState, record: _OfChunk) -> str | None:
        match record:
            case MemoryWritten():
                return self._memory_fault(state, record)
            case GateSet() | ParseFailed():
                return "a chunk has one gate, or none" if self._group else None
            case BudgetExceeded(tokens=None):
                return "a candidate that was cut has no gate" if self._group else None
            case _:
                return None if self._is_update() else f"there is {record.type} without a gate that says update"

    def _is_update(self) -> bool:
        return len(self._group) == 1 and isinstance(self._group[0], GateSet) and self._group[0].update

    def _evidence_fault(self, state: ReadingLogState, record: Evidence) -> str | None:
        if not self._is_update():
            return "there is evidence without a gate that says update"
        gate = self._group[0]
        assert isinstance(gate, GateSet)  # it says update
        source = _next_source(state, gate.level, gate.document)
        assert source is not None  # the gate was at its place
        if (record.level, record.document, record.start, record.end) != (
            source.level - 1,
            source.document,
            source.start,
            source.end,
        ):
            return "the evidence is not what was read in this chunk"
        return None if record.sha256 == self._hash_of(source) else "the evidence has another hash than its source"

    def _hash_of(self, source: Source) -> str | None:
        if source.text is not None:
            return sha256(source.text.encode()).hexdigest()
        body = self._text(source.document, source.start, source.end)
        return None if body is None else sha256(body).hexdigest()

    def _memory_fault(self, state: ReadingLogState, record: MemoryWritten) -> str | None:
        if len(self._group) != 2 or not isinstance(self._group[1], Evidence):
            return "there is a memory without its gate and its evidence"
        if record.sha256 != sha256(record.text.encode()).hexdigest():
            return "the memory has another hash than its text"
        before = state.run(key_of(record.level, record.document)).memory
        parents = (self._group[1].sha256, *(() if before is None else (before.sha256,)))
        if record.parents != parents:
            return "the memory's parents are not its evidence and the memory before"
        return None if record.tokens <= state.created.options.memory_budget else "the memory is over its budget"

    def _close(self, record: ReadingUsage) -> str | None:
        if not self._group or isinstance(self._group[-1], Evidence):
            return "there is usage of a chunk of which nothing, or half, is told"
        first = self._group[0]
        if isinstance(first, Evidence) or (first.level, first.document, first.chunk) != (
            record.level,
            record.document,
            record.chunk,
        ):
            return "the usage is of another chunk than the records before it"
        if self._is_update():
            return "there is a gate that says update, and neither a memory nor why there is none"
        self._group.clear()
        return None


def _next_source(state: ReadingLogState, level: int, document: int) -> Source | None:
    known = 0 < level <= state.created.options.level and 0 < document <= len(state.created.documents)
    return next_source(state, key_of(level, document)) if known else None


def _plan_fault(state: ReadingLogState, record: ReadingPlanned) -> str | None:
    if state.planned is not None:
        return "a reading is planned once"
    sizes = [document.bytes for document in state.created.documents]
    if [ends[-1] if ends else 0 for ends in record.ends] != sizes:
        return "the chunks do not end where the documents do"
    ascending = all(list(ends) == sorted({*ends}) and min(ends, default=1) > 0 for ends in record.ends)
    return None if ascending else "a chunk ends before it begins"


def _answer_fault(state: ReadingLogState, record: AnswerGiven) -> str | None:
    memory = final_memory(state)
    if state.planned is None or open_sources(state) or state.answered is not None:
        return "there is an answer before all is read, or a second one"
    known = None if memory is None else memory.sha256
    return None if record.memory == known else "the answer does not come out of the last memory"


def _end_fault(state: ReadingLogState, record: RunEnd) -> str | None:
    if record != run_end(state, record.outcome, record.error):
        return "the end tells other numbers than the records before it"
    step = next_step(state)
    outcome = record.outcome
    if outcome in (ReadingOutcome.ANSWERED, ReadingOutcome.NOT_FOUND) and getattr(step, "outcome", None) is not outcome:
        return f"the reading can't have ended as {outcome}"
    return None
