"""What `turnkeeper verify` says of a reading's records: of right ones nothing, of each that was bent something (R8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, cast

import pytest

from service.core.kept_documents import DocumentText
from service.core.reading.options import ExitMode
from service.core.reading.records import (
    AnswerGiven,
    BudgetExceeded,
    Evidence,
    GateSet,
    MemoryWritten,
    ParseFailed,
    ReadingOutcome,
    ReadingPlanned,
    ReadingRecord,
    ReadingUsage,
    RunEnd,
)
from service.core.reading.trail import ReadingTrail
from service.core.usage import UsageTotals
from tests.readings.reader_llama import AskedChunk, ReaderLlama, Says
from tests.readings.reading_house import ReadingHouse, document, retain, update

pytestmark = [pytest.mark.anyio, pytest.mark.rules("R8")]

BOOKS = [document("MARK a", "b", "BAD", "LONG", "CUT", "MARK c"), document("d"), document("MARK e", "f")]
TEXTS = [book.text.encode() for book in BOOKS]


def says(asked: AskedChunk) -> Says:
    if "BAD" in asked.section:
        return "no JSON"
    if "LONG" in asked.section:
        return update(" ".join(["word"] * 90))
    if "CUT" in asked.section:
        return '{"update": true, "memory": "on and on', "length"
    return update(f"{asked.memory or ''} MARK {len(asked.section)}".strip()) if "MARK" in asked.section else retain()


def text(number: int, start: int, end: int) -> bytes | None:
    return TEXTS[number - 1][start:end] if 0 < number <= len(TEXTS) else None


def first_fault(records: Sequence[ReadingRecord], read: DocumentText = text) -> tuple[int, str] | None:
    trail = ReadingTrail(read)
    for place, record in enumerate(records):
        if (fault := trail.fault_of(record)) is not None:
            return place, fault
    return None


async def a_reading(exit: ExitMode = ExitMode.NEVER) -> list[ReadingRecord]:
    house = ReadingHouse(ReaderLlama(says, slots_number=1))
    view = await house.read(*BOOKS, level=2, exit=exit)
    assert view.status.outcome is ReadingOutcome.ANSWERED
    return list(await house.records(view.id))


@pytest.mark.parametrize("exit_mode", [ExitMode.NEVER, ExitMode.ASKED])
async def test_a_reading_as_it_was_kept_is_right_at_each_of_its_ends(exit_mode: ExitMode) -> None:
    records = await a_reading(exit_mode)

    assert {type(record) for record in records} >= {GateSet, Evidence, MemoryWritten, BudgetExceeded, ParseFailed}
    for end in range(len(records) + 1):
        assert first_fault(records[:end]) is None


Bend = Callable[[Any], ReadingRecord]


def bent(**changes: object) -> Bend:
    return lambda record: replace(record, **changes)


BENDS: list[tuple[type[ReadingRecord], Bend]] = [
    (ReadingPlanned, lambda plan: replace(plan, ends=(plan.ends[0][:-1], *plan.ends[1:]))),
    (ReadingPlanned, lambda plan: replace(plan, ends=((plan.ends[0][1], *plan.ends[0]), *plan.ends[1:]))),
    (ReadingPlanned, lambda plan: replace(plan, ends=plan.ends[:2])),
    (GateSet, lambda gate: replace(gate, update=not gate.update)),
    (GateSet, lambda gate: replace(gate, chunk=gate.chunk + 1)),
    (GateSet, lambda gate: replace(gate, document=gate.document + 1, chunk=7)),
    (GateSet, bent(level=2, chunk=9)),
    (Evidence, lambda evidence: replace(evidence, start=evidence.start + 1)),
    (Evidence, lambda evidence: replace(evidence, end=evidence.end - 1)),
    (Evidence, lambda evidence: replace(evidence, level=evidence.level + 1)),
    (Evidence, lambda evidence: replace(evidence, document=evidence.document + 1)),
    (Evidence, bent(sha256="0" * 64)),
    (MemoryWritten, bent(text="Something else.")),
    (MemoryWritten, bent(sha256="0" * 64)),
    (MemoryWritten, bent(text="Something else.", sha256=sha256(b"Something else.").hexdigest(), parents=())),
    (MemoryWritten, lambda memory: replace(memory, parents=(*memory.parents, "0" * 64))),
    (MemoryWritten, bent(tokens=65)),
    (MemoryWritten, lambda memory: replace(memory, chunk=memory.chunk + 1)),
    (BudgetExceeded, lambda exceeded: replace(exceeded, chunk=exceeded.chunk - 1)),
    (BudgetExceeded, lambda exceeded: replace(exceeded, tokens=None if exceeded.tokens else 90)),
    (ParseFailed, lambda failed: replace(failed, chunk=failed.chunk + 1)),
    (ReadingUsage, lambda usage: replace(usage, usage=usage.usage + UsageTotals(completions=1))),
    (ReadingUsage, lambda usage: replace(usage, chunk=(usage.chunk or 0) + 1, document=usage.document or 1)),
    (AnswerGiven, bent(memory="0" * 64)),
    (RunEnd, lambda end: replace(end, chunks_seen=end.chunks_seen - 1)),
    (RunEnd, lambda end: replace(end, chunks_used=0)),
    (RunEnd, lambda end: replace(end, calls=end.calls + 1)),
    (RunEnd, bent(final_memory_sha=None)),
    (RunEnd, bent(exits_refused=1)),
    (RunEnd, bent(outcome=ReadingOutcome.NOT_FOUND)),
]


@pytest.mark.parametrize(("kind", "bend"), BENDS, ids=[f"{kind.type}-{at}" for at, (kind, _) in enumerate(BENDS)])
async def test_a_record_that_was_bent_is_found(kind: type[ReadingRecord], bend: Bend) -> None:
    records = await a_reading()
    places = [place for place, record in enumerate(records) if isinstance(record, kind)]
    assert places

    for place in places:
        changed = [*records[:place], bend(records[place]), *records[place + 1 :]]
        fault = first_fault(changed)
        assert fault is not None, records[place]
        assert fault[0] >= place


async def test_a_record_that_is_missing_twice_there_or_elsewhere_is_found() -> None:
    records = await a_reading()

    for place in range(len(records) - 1):
        assert first_fault([*records[:place], *records[place + 1 :]]) is not None, records[place]
        assert first_fault([*records[: place + 1], *records[place:]]) is not None, records[place]
        swapped = [*records[:place], records[place + 1], records[place], *records[place + 2 :]]
        assert first_fault(swapped) is not None, records[place]


async def test_a_record_behind_the_end_is_found() -> None:
    records = await a_reading()

    for record in (records[-1], records[-2], records[0]):
        assert first_fault([*records, record]) == (len(records), "there is a record behind the end of the reading")


async def test_a_text_that_was_changed_is_found_where_it_is_evidence() -> None:
    records = await a_reading()

    def changed(number: int, start: int, end: int) -> bytes | None:
        body = text(number, start, end)
        return body if number != 3 or body is None else body.replace(b"MARK", b"mark")

    fault = first_fault(records, changed)
    assert fault is not None
    assert cast(Evidence, records[fault[0]]).document == 3
    assert "hash" in fault[1]
    gone = first_fault(records, lambda _number, _start, _end: None)
    assert gone is not None


async def test_a_memory_that_nobody_wrote_a_gate_for_is_found() -> None:
    records = await a_reading()
    gate = next(place for place, record in enumerate(records) if isinstance(record, GateSet) and record.update)

    assert first_fault([*records[:gate], *records[gate + 1 :]]) == (
        gate,
        "there is evidence without a gate that says update",
    )
