"""A finished reading in which each kind of record comes about, and one that has only begun."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from service.codec import encode_reading_record
from service.core.ids import LOCAL_OWNER, ReadingId
from service.core.reading.options import ReadingOptions
from service.core.reading.records import (
    AnswerGiven,
    BudgetExceeded,
    Evidence,
    GateSet,
    MemoryWritten,
    ParseFailed,
    ReadDocument,
    ReadingCreated,
    ReadingEntry,
    ReadingOutcome,
    ReadingPlanned,
    ReadingRecord,
    ReadingUsage,
    RunEnd,
)
from service.core.reading.status import ReadingState, ReadingStatus
from service.core.usage import UsageTotals
from service.ports.reading_log import NewReading, ReadingDraft, ReadingLog
from tests.adapters.log_contract.sessions_made import LATER, START

TEXT = ("Die Brücke ist 1904 gebaut.\n\n" + "Nichts Neues. " * 1000).encode() * 5
"""Longer than one part, and five chunks of the same length."""
FINISHED, BEGUN = ReadingId("rdg_000001"), ReadingId("rdg_000002")

_CHUNK = len(TEXT) // 5
_ONE_CALL = UsageTotals(prompt_tokens=500, cached_tokens=100, completion_tokens=20, completions=1)
_ALL = UsageTotals(prompt_tokens=3000, cached_tokens=600, completion_tokens=120, completions=6)


def _sha(text: bytes) -> str:
    return sha256(text).hexdigest()


def _chunk(number: int) -> bytes:
    return TEXT[(number - 1) * _CHUNK : number * _CHUNK]


def _created() -> ReadingCreated:
    document = ReadDocument(name="brücke.txt", media_type="text/plain", bytes=len(TEXT), sha256=_sha(TEXT))
    return ReadingCreated(query="Wann?", documents=(document,), options=ReadingOptions(), model=None)


def _gate(number: int, *, update: bool) -> GateSet:
    return GateSet(level=1, document=1, chunk=number, update=update, exit=False, update_probability=0.75)


def _cost(number: int | None) -> ReadingUsage:
    return ReadingUsage(level=1, document=None if number is None else 1, chunk=number, usage=_ONE_CALL)


def _used(number: int, memory: str, before: str | None) -> Sequence[ReadingRecord]:
    """Write what comes of a chunk that changes the memory."""
    source = _sha(_chunk(number))
    return (
        _gate(number, update=True),
        Evidence(level=0, document=1, start=(number - 1) * _CHUNK, end=number * _CHUNK, sha256=source),
        MemoryWritten(
            level=1,
            document=1,
            chunk=number,
            text=memory,
            tokens=9,
            sha256=_sha(memory.encode()),
            parents=(source,) if before is None else (source, _sha(before.encode())),
        ),
        _cost(number),
    )


def _log() -> Sequence[ReadingRecord]:
    planned = ReadingPlanned(
        model="demo",
        template="0" * 64,
        prompt=1,
        context_tokens=4096,
        chunk_tokens=1500,
        answer_tokens=512,
        fence="0123456789abcdef",
        ends=(tuple(number * _CHUNK for number in range(1, 6)),),
    )
    first, last = "Gebaut 1904.", "Gebaut 1904, sagt der Text."
    end = RunEnd(
        level=1,
        outcome=ReadingOutcome.ANSWERED,
        chunks_seen=5,
        chunks_used=2,
        calls=6,
        exits_refused=0,
        final_memory_sha=_sha(last.encode()),
        usage=_ALL,
    )
    return (
        _created(),
        planned,
        *_used(1, first, None),
        *(_gate(2, update=False), _cost(2)),
        *(ParseFailed(level=1, document=1, chunk=3, attempts=3, reason="no JSON object"), _cost(3)),
        *_used(4, last, first),
        *(
            _gate(5, update=True),
            BudgetExceeded(level=1, document=1, chunk=5, tokens=4000, budget=1024),
            _cost(5),
        ),
        *(AnswerGiven(level=1, content="1904.", memory=_sha(last.encode())), _cost(None)),
        end,
    )


def _drafts(reading: ReadingId, records: Sequence[ReadingRecord], *, first: int = 1) -> Sequence[ReadingDraft]:
    entries = [
        ReadingEntry(reading=reading, seq=seq, time=START, record=record)
        for seq, record in enumerate(records, start=first)
    ]
    return [ReadingDraft(type=entry.record.type, body=encode_reading_record(entry)) for entry in entries]


async def write_readings(log: ReadingLog) -> None:
    """Write both."""
    created, *others = _log()
    for reading in (FINISHED, BEGUN):
        made = NewReading(id=reading, owner=LOCAL_OWNER, created_at=START)
        await log.create_reading(made, _drafts(reading, [created]), [TEXT], ReadingStatus())
    status = ReadingStatus(
        state=ReadingState.FINISHED,
        outcome=ReadingOutcome.ANSWERED,
        chunks=(5,),
        chunks_seen=5,
        chunks_used=2,
        calls=6,
        answer="1904.",
        usage=_ALL,
    )
    await log.append_to_reading(FINISHED, 1, _drafts(FINISHED, others, first=2), status, LATER)
