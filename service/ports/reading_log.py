"""The store of readings: their logs and the texts of their documents (DESIGN sections 9 and 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from service.core.chain import Head
from service.core.ids import OwnerId, ReadingId
from service.core.reading.status import ReadingStatus
from service.core.request_key import KeyedReading, RequestKey
from service.ports.cursor import Cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingDraft:
    """A record of a reading that is about to be appended: `body` is its exact JSON with its `seq` inside (S3)."""

    type: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReadingRecord:
    """A record as the store keeps it; `pos` grows strictly over the whole store, sessions included (H6)."""

    reading: ReadingId
    type: str
    seq: int
    pos: int
    body: bytes
    hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReading:
    """What the store is told of a reading when it is made."""

    id: ReadingId
    owner: OwnerId
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRow:
    """A reading as the store keeps it beside its log; `created` is the body of its first record."""

    id: ReadingId
    owner: OwnerId
    created_at: datetime
    updated_at: datetime
    status: ReadingStatus
    head: Head
    created: bytes


class ReadingLog(Protocol):
    """Readings. Every method may raise `StoreFailure`; a reading that is not there is None or an empty list."""

    async def create_reading(
        self,
        reading: NewReading,
        records: Sequence[ReadingDraft],
        documents: Sequence[bytes],
        status: ReadingStatus,
        *,
        key: RequestKey | None = None,
    ) -> Sequence[StoredReadingRecord]:
        """Make a reading with its first records, its key and the texts of its documents, UTF-8: all or nothing (H3).

        Until this returns nothing of it can be seen; a crash meanwhile leaves nothing that a start doesn't remove.

        Raises:
            StoreFailure: the id is taken.
        """
        ...

    async def keyed_reading(self, key: RequestKey) -> KeyedReading | None:
        """Give the reading that was made under a key, whatever the body of that request was (H3)."""
        ...

    async def append_to_reading(
        self,
        reading: ReadingId,
        expected_seq: int,
        records: Sequence[ReadingDraft],
        status: ReadingStatus,
        now: datetime,
    ) -> Sequence[StoredReadingRecord]:
        """Append all records or none; they are on disk when this returns (S1, S2).

        Raises:
            SequenceConflict: the log's last `seq` is not `expected_seq`, or the reading is gone.
        """
        ...

    async def read_reading(
        self, reading: ReadingId, *, after_pos: int = 0, limit: int | None = None, max_bytes: int | None = None
    ) -> Sequence[StoredReadingRecord]:
        """Read records in order; it stops behind the record with which the bodies are `max_bytes` long or longer."""
        ...

    async def document_text(self, reading: ReadingId, document: int, *, start: int, end: int) -> bytes | None:
        """Read bytes `start` to `end` of a document's text; documents count from 1; None when it is not there.

        It is shorter when the text ends before `end`, and empty when it ends before `start`.
        """
        ...

    async def reading(self, reading: ReadingId) -> ReadingRow | None:
        """Read one reading's row."""
        ...

    async def readings(self, *, owner: OwnerId, limit: int, before: ReadingId | None = None) -> Sequence[ReadingRow]:
        """List an owner's readings, newest first; those created before the reading `before`, when it is given."""
        ...

    async def unfinished_readings(self) -> Sequence[ReadingId]:
        """List the readings that are not finished, oldest first: what a start goes on with (R5)."""
        ...

    async def delete_reading(self, reading: ReadingId) -> bool:
        """Remove a reading with its log, its documents and its key; False when it was not there."""
        ...

    async def prune_readings(self, before: datetime, *, limit: int) -> Sequence[ReadingId]:
        """Remove readings that are finished and were last changed before a moment; give their ids (S7).

        At most `limit` of them, oldest first; ask again until none is left.
        """
        ...

    async def last_pos(self) -> int:
        """Give the greatest `pos` ever given, also when its record is gone; 0 when there was none."""
        ...

    async def cursor(self, pos: int) -> Cursor:
        """Look up where a reader stands that has seen all up to `pos` (H6)."""
        ...
