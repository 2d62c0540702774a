"""What callers ask of readings, and what they are shown of them (DESIGN section 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from service.codec import decode_reading_record
from service.core.chain import Head
from service.core.ids import OwnerId, ReadingId
from service.core.reading.options import ReadingOptions
from service.core.reading.records import ReadDocument, ReadingCreated
from service.core.reading.status import ReadingStatus
from service.core.trace_context import TraceContext
from service.ports import ReadingRow
from service.ports.documents import DocumentText


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingAsked:
    """A question over documents. `trace` is the caller's place in a trace."""

    query: str
    documents: Sequence[DocumentText]
    options: ReadingOptions
    trace: TraceContext | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingView:
    """The reading resource."""

    id: ReadingId
    owner: OwnerId
    created_at: datetime
    updated_at: datetime
    query: str
    documents: tuple[ReadDocument, ...]
    options: ReadingOptions
    status: ReadingStatus
    head: Head


def reading_view(row: ReadingRow) -> ReadingView:
    """Give a reading as its row and its first record tell it."""
    created = decode_reading_record(row.created).record
    assert isinstance(created, ReadingCreated)  # seq 1 is nothing else
    return ReadingView(
        id=row.id,
        owner=row.owner,
        created_at=row.created_at,
        updated_at=row.updated_at,
        query=created.query,
        documents=created.documents,
        options=created.options,
        status=row.status,
        head=row.head,
    )
