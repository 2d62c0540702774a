"""The pure machine of readings: what comes next, and what a level changes (R2, R6)."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any, cast

import pytest

from service.core.reading.machine import (
    End,
    Heard,
    Plan,
    ReadChunks,
    Source,
    WriteAnswer,
    chunk_records,
    next_step,
    open_chunks,
    run_end,
)
from service.core.reading.options import ExitMode, ReadingOptions
from service.core.reading.records import (
    AnswerGiven,
    ReadDocument,
    ReadingCreated,
    ReadingOutcome,
    ReadingPlanned,
    ReadingRecord,
    ReadingUsage,
)
from service.core.reading.reply import CandidateCut, Gates, NotParsed
from service.core.reading.state import ReadingLogState, apply, fold
from service.core.usage import UsageTotals

pytestmark = [pytest.mark.rules("R2")]

ONE_CALL = UsageTotals(completions=1)


def created(documents: int = 1, **options: Any) -> ReadingCreated:
    document = ReadDocument(name="book", media_type="text/plain", bytes=100, sha256="0" * 64)
    return ReadingCreated(query="Where?", documents=(document,) * documents, options=ReadingOptions(**options))


def planned(*chunks: int) -> ReadingPlanned:
    return ReadingPlanned(
        model="m",
        template="t",
        prompt=1,
        context_tokens=4096,
        chunk_tokens=128,
        answer_tokens=512,
        fence="f",
        ends=tuple(tuple(range(10, 10 * number + 1, 10)) for number in chunks),
    )


def hears(memory: str | None = None, *, exit: bool = False, tokens: int = 5, **more: Any) -> Heard:
    gates = Gates(update=memory is not None, candidate=memory, exit=exit, draft=more.pop("draft", None))
    return Heard(reply=gates, candidate_tokens=None if memory is None else tokens, **more)


def after(state: ReadingLogState, source: Source, heard: Heard) -> ReadingLogState:
    """Resolve a chunk."""
    for record in [*kept(state, source, heard), usage(source)]:
        state = apply(state, record)
    return state


def kept(state: ReadingLogState, source: Source, heard: Heard) -> tuple[ReadingRecord, ...]:
    digest = sha256(f"{source.document} {source.start}".encode()).hexdigest()
    return chunk_records(state, source, digest, heard)


def usage(source: Source) -> ReadingUsage:
    return ReadingUsage(level=source.level, document=source.document, chunk=source.chunk, usage=ONE_CALL)


def sources(state: ReadingLogState) -> tuple[Source, ...]:
    step = next_step(state)
    assert isinstance(step, ReadChunks)
    return step.sources


def test_first_the_chunks_are_planned_then_read_in_order_then_the_answer_is_written() -> None:
    state = fold([created()])
    assert next_step(state) == Plan()
    assert open_chunks(state) == 0
    state = apply(state, planned(2))
    (first,) = sources(state)
    assert (first.start, first.end, first.chunk, first.chunks) == (0, 10, 1, 2)
    assert open_chunks(state) == 2
    state = after(state, first, hears("It is here."))
    (second,) = sources(state)
    assert (second.start, second.end, second.chunk) == (10, 20, 2)
    state = after(state, second, hears())
    step = next_step(state)
    assert isinstance(step, WriteAnswer)
    assert step.memory.text == "It is here."
    state = apply(state, AnswerGiven(level=1, content="Here.", memory=step.memory.sha256))
    assert next_step(state) == End(ReadingOutcome.ANSWERED)
    state = apply(state, run_end(state, ReadingOutcome.ANSWERED))
    assert next_step(state) is None
    assert open_chunks(state) == 0


@pytest.mark.rules("R6")
def test_at_level_2_each_document_is_read_by_itself_and_then_the_memories_that_there_are() -> None:
    state = fold([created(3, level=2), planned(1, 2, 1)])
    assert [(source.level, source.document) for source in sources(state)] == [(1, 1), (1, 2), (1, 3)]
    for source in sources(state):
        state = after(state, source, hears(f"Memory of {source.document}.") if source.document != 3 else hears())
    # Document 2 has another chunk; the memories wait for it.
    (second_of_2,) = sources(state)
    assert (second_of_2.document, second_of_2.chunk) == (2, 2)
    assert open_chunks(state) == 3
    state = after(state, second_of_2, hears())
    (memory,) = sources(state)
    assert (memory.level, memory.document, memory.text) == (2, 1, "Memory of 1.")
    assert (memory.chunk, memory.chunks) == (1, 2)
    state = after(state, memory, hears("Both."))
    (memory,) = sources(state)
    assert (memory.level, memory.document, memory.chunk, memory.text) == (2, 2, 2, "Memory of 2.")
    assert memory.end == len("Memory of 2.")
    state = after(state, memory, hears())
    step = next_step(state)
    assert isinstance(step, WriteAnswer)
    assert step.memory.text == "Both."
    assert (state.chunks_seen, state.chunks_used) == (6, 3)


@pytest.mark.rules("R6", "R10")
def test_at_level_2_nothing_is_read_of_documents_without_a_memory_and_nothing_is_made_up() -> None:
    state = fold([created(2, level=2), planned(1, 1)])
    for source in sources(state):
        state = after(state, source, hears())
    assert next_step(state) == End(ReadingOutcome.NOT_FOUND)


@pytest.mark.rules("R6")
def test_the_same_script_at_both_levels_gives_records_that_differ_in_their_level_only() -> None:
    script = [
        hears("First."),
        hears(),
        Heard(reply=NotParsed("no JSON"), attempts=3),
        hears("Too long.", tokens=5000),
        Heard(reply=CandidateCut()),
        hears("First and last.", exit=True),
    ]
    told: dict[int, list[dict[str, Any]]] = {}
    for level in (1, 2):
        state = fold([created(level=level, exit=ExitMode.ASKED), planned(len(script))])
        told[level] = []
        for number, heard in enumerate(script, start=1):
            source = Source(
                level=level, document=1, chunk=number, chunks=len(script), start=10 * number - 10, end=10 * number
            )
            records = [*kept(state, source, heard), usage(source)]
            for record in records:
                state = apply(state, record)
                told[level].append({"type": record.type, **_members(record)})
        end = run_end(state, ReadingOutcome.ANSWERED)
        told[level].append({"type": end.type, **_members(end)})
    assert len(told[1]) == 18
    assert [record["level"] + 1 for record in told[1]] == [record["level"] for record in told[2]]
    assert [{**record, "level": None} for record in told[1]] == [{**record, "level": None} for record in told[2]]


def _members(record: ReadingRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in cast(Any, record).__dataclass_fields__}


@pytest.mark.rules("R11")
def test_a_measured_reading_stops_when_the_draft_was_the_same_and_sure_for_three_chunks() -> None:
    def read(*drafts: tuple[str, float | None]) -> int:
        state = fold([created(exit=ExitMode.MEASURED), planned(9)])
        for number, (draft, probability) in enumerate(drafts, start=1):
            (source,) = sources(state)
            memory = "Found." if number == 1 else None
            state = after(state, source, hears(memory, draft=draft, draft_probability=probability))
        return state.chunks_seen if isinstance(next_step(state), WriteAnswer) else -1

    assert read(("Rome", 0.995), ("Rome", 1.0), ("Rome", 0.999)) == 3
    assert read(("Rome", 0.995), ("Rome", 1.0)) == -1
    assert read(("Rome", 0.995), ("Rome", 0.994), ("Rome", 0.999)) == -1
    assert read(("Rome", 0.995), ("Roma", 0.999), ("Rome", 0.999)) == -1
    assert read(("Rome", 0.995), ("Rome", None), ("Rome", 0.999)) == -1
    assert read(("", 1.0), ("", 1.0), ("", 1.0)) == -1
    assert read(("Oslo", 1.0), ("Rome", 1.0), (" Rome", 1.0), ("Rome ", 1.0)) == 4


@pytest.mark.rules("R11", "R4")
def test_a_measured_reading_never_stops_on_an_empty_memory_or_across_a_chunk_that_told_nothing() -> None:
    state = fold([created(exit=ExitMode.MEASURED), planned(9)])
    for _ in range(4):
        (source,) = sources(state)
        state = after(state, source, hears(draft="Rome", draft_probability=1.0))
    (source,) = sources(state)
    assert source.chunk == 5
    for heard in (hears("Found.", draft="Rome", draft_probability=1.0), Heard(reply=NotParsed("no"), attempts=3)):
        state = replace(state, runs={}) if heard.attempts == 1 else state
        state = after(state, sources(state)[0], heard)
    for _ in range(2):
        state = after(state, sources(state)[0], hears(draft="Rome", draft_probability=1.0))
    assert isinstance(next_step(state), ReadChunks)


@pytest.mark.rules("R11")
def test_the_models_exit_gate_does_not_end_a_measured_reading() -> None:
    state = fold([created(exit=ExitMode.MEASURED), planned(2)])
    state = after(state, sources(state)[0], hears("Found.", exit=True, draft="", draft_probability=1.0))
    assert isinstance(next_step(state), ReadChunks)


@pytest.mark.rules("R11", "R8")
def test_an_exit_gate_ends_a_pass_behind_the_records_of_its_chunk_and_not_between_them() -> None:
    state = fold([created(exit=ExitMode.ASKED), planned(3)])
    (source,) = sources(state)
    gate, *others = kept(state, source, hears("Found.", exit=True))
    state = apply(state, gate)
    assert sources(state) == (source,)
    for record in [*others, usage(source)]:
        state = apply(state, record)
    assert isinstance(next_step(state), WriteAnswer)
