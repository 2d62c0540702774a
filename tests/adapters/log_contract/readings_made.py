"""Readings and records with no meaning beyond their form: a store looks into neither."""

from collections.abc import Sequence

from service.adapters.system import RandomIds
from service.core.errors import ErrorKind
from service.core.ids import LOCAL_OWNER, OwnerId, ReadingId
from service.core.reading.records import ReadingOutcome
from service.core.reading.status import ReadingState, ReadingStatus
from service.core.records.outcomes import TurnError
from service.core.request_key import RequestKey
from service.core.usage import UsageTotals
from service.ports.reading_log import NewReading, ReadingDraft, ReadingLog, StoredReadingRecord
from tests.adapters.log_contract.sessions_made import LATER, START

QUEUED = ReadingStatus()
RUNNING = ReadingStatus(state=ReadingState.RUNNING)
FINISHED = ReadingStatus(state=ReadingState.FINISHED, outcome=ReadingOutcome.NOT_FOUND)
EVERY_FIELD = ReadingStatus(
    state=ReadingState.FINISHED,
    outcome=ReadingOutcome.FAILED,
    error=TurnError(kind=ErrorKind.UPSTREAM_HTTP, message="no", status=500),
    chunks=(3, 4),
    chunks_seen=5,
    chunks_used=2,
    calls=6,
    answer="Grüße 🧶",
    usage=UsageTotals(
        prompt_tokens=1, cached_tokens=2, completion_tokens=3, reasoning_tokens=4, completions=5, tool_calls=6
    ),
)
"""A status in which no field has its default."""

KEY = RequestKey(owner=LOCAL_OWNER, method="POST", path="/readings", key="k", body=b"\x00\xff")


def new_reading(reading: str | None = None, *, owner: OwnerId = LOCAL_OWNER) -> NewReading:
    # As sortable by creation as those of sessions.
    made = RandomIds().session().replace("ses_", "rdg_") if reading is None else reading
    return NewReading(id=ReadingId(made), owner=owner, created_at=START)


def draft(body: bytes = b"{}", *, record_type: str = "gate") -> ReadingDraft:
    return ReadingDraft(type=record_type, body=body)


async def make(
    log: ReadingLog,
    reading: NewReading | None = None,
    documents: Sequence[bytes] = (b"text",),
    *,
    created: bytes = b'{"made":true}',
    status: ReadingStatus = QUEUED,
    key: RequestKey | None = None,
) -> ReadingId:
    """Make a reading whose log has its first record only."""
    reading = reading or new_reading()
    await log.create_reading(reading, [draft(created, record_type="reading_created")], documents, status, key=key)
    return reading.id


async def append(
    log: ReadingLog,
    reading: ReadingId,
    expected_seq: int,
    records: Sequence[ReadingDraft] | None = None,
    status: ReadingStatus = RUNNING,
) -> Sequence[StoredReadingRecord]:
    return await log.append_to_reading(reading, expected_seq, [draft()] if records is None else records, status, LATER)


async def text_of(log: ReadingLog, reading: ReadingId, document: int = 1) -> bytes | None:
    """Read a whole text."""
    return await log.document_text(reading, document, start=0, end=2**40)
