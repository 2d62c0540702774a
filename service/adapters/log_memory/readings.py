"""The `ReadingLog` in memory; no method awaits anything, so each is atomic among the tasks of one event loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from service.adapters.log_memory.kept import behind, up_to
from service.adapters.log_memory.shared import Shared, refuse_wrong_seq
from service.core import chain
from service.core.chain import Head
from service.core.errors import SequenceConflict
from service.core.ids import OwnerId, ReadingId
from service.core.reading.status import ReadingState, ReadingStatus
from service.core.request_key import KeyedReading, RequestKey
from service.ports.cursor import Cursor
from service.ports.reading_log import NewReading, ReadingDraft, ReadingRow, StoredReadingRecord


@dataclass(slots=True)
class KeptReading:
    """One reading: what it was made with, what changes beside the log, and the log (index: `seq` - 1)."""

    made: NewReading
    documents: tuple[bytes, ...]
    updated_at: datetime
    status: ReadingStatus
    records: list[StoredReadingRecord] = field(default_factory=list[StoredReadingRecord])

    @property
    def head(self) -> Head:
        """Where its log ends."""
        return Head(seq=self.records[-1].seq, hash=self.records[-1].hash) if self.records else chain.EMPTY

    def row(self) -> ReadingRow:
        """Give what is kept beside its log."""
        return ReadingRow(
            id=self.made.id,
            owner=self.made.owner,
            created_at=self.made.created_at,
            updated_at=self.updated_at,
            status=self.status,
            head=self.head,
            created=self.records[0].body,
        )


class MemoryReadings:
    """A `ReadingLog` that lives as long as its process."""

    def __init__(self) -> None:
        self._shared = Shared()
        self._readings: dict[ReadingId, KeptReading] = {}

    async def create_reading(
        self,
        reading: NewReading,
        records: Sequence[ReadingDraft],
        documents: Sequence[bytes],
        status: ReadingStatus,
        *,
        key: RequestKey | None = None,
    ) -> Sequence[StoredReadingRecord]:
        """Make a reading with its first records and the texts of its documents.

        Raises:
            StoreFailure: the id is taken.
        """
        self._shared.take_id("reading", reading.id)
        kept = KeptReading(made=reading, documents=tuple(documents), updated_at=reading.created_at, status=status)
        self._readings[reading.id] = kept
        if key is not None:
            self._shared.keep_key(key, KeyedReading(body=key.body, reading=reading.id), reading.created_at)
        return self._extend_reading(kept, records)

    async def append_to_reading(
        self,
        reading: ReadingId,
        expected_seq: int,
        records: Sequence[ReadingDraft],
        status: ReadingStatus,
        now: datetime,
    ) -> Sequence[StoredReadingRecord]:
        """Append all records or none (S1).

        Raises:
            SequenceConflict: the log's last `seq` is not `expected_seq`, or the reading is gone.
        """
        kept = self._readings.get(reading)
        if kept is None:
            raise SequenceConflict(f"reading {reading} is not there")
        refuse_wrong_seq("reading", reading, kept.head, expected_seq)
        kept.status, kept.updated_at = status, now
        return self._extend_reading(kept, records)

    def _extend_reading(self, kept: KeptReading, drafts: Sequence[ReadingDraft]) -> Sequence[StoredReadingRecord]:
        placed = self._shared.place(kept.head, (draft.body for draft in drafts))
        added = [
            StoredReadingRecord(
                reading=kept.made.id, type=draft.type, seq=at.seq, pos=at.pos, body=draft.body, hash=at.hash
            )
            for draft, at in zip(drafts, placed, strict=True)
        ]
        kept.records += added
        return added

    async def read_reading(
        self, reading: ReadingId, *, after_pos: int = 0, limit: int | None = None, max_bytes: int | None = None
    ) -> Sequence[StoredReadingRecord]:
        """Read records in order; it stops behind the record with which the bodies are `max_bytes` long or longer."""
        kept = self._readings.get(reading)
        return [] if kept is None else up_to(behind(kept.records, after_pos)[:limit], max_bytes)

    async def document_text(self, reading: ReadingId, document: int, *, start: int, end: int) -> bytes | None:
        """Read bytes `start` to `end` of a document's text; documents count from 1; None when it is not there."""
        kept = self._readings.get(reading)
        if kept is None or not 1 <= document <= len(kept.documents):
            return None
        return kept.documents[document - 1][start:end]

    async def reading(self, reading: ReadingId) -> ReadingRow | None:
        """Read one reading's row."""
        kept = self._readings.get(reading)
        return None if kept is None else kept.row()

    async def readings(self, *, owner: OwnerId, limit: int, before: ReadingId | None = None) -> Sequence[ReadingRow]:
        """List an owner's readings, newest first."""
        listed = [
            reading
            for reading, kept in self._readings.items()
            if kept.made.owner == owner and (before is None or reading < before)
        ]
        return [self._readings[reading].row() for reading in sorted(listed, reverse=True)[:limit]]

    async def unfinished_readings(self) -> Sequence[ReadingId]:
        """List the readings that are not finished, oldest first (R5)."""
        return sorted(
            reading for reading, kept in self._readings.items() if kept.status.state is not ReadingState.FINISHED
        )

    async def keyed_reading(self, key: RequestKey) -> KeyedReading | None:
        """Give the reading that was made under a key (H3)."""
        return self._shared.keyed(key, KeyedReading)

    async def delete_reading(self, reading: ReadingId) -> bool:
        """Remove a reading with its log, its documents and its key; False when it was not there."""
        if self._readings.pop(reading, None) is None:
            return False
        self._shared.let_go([reading])
        return True

    async def prune_readings(self, before: datetime, *, limit: int) -> Sequence[ReadingId]:
        """Remove at most `limit` readings that are finished and were last changed before a moment (S7)."""
        old = [
            reading
            for reading, kept in self._readings.items()
            if kept.status.state is ReadingState.FINISHED and kept.updated_at < before
        ]
        pruned = sorted(old)[:limit]
        for reading in pruned:
            await self.delete_reading(reading)
        return pruned

    async def last_pos(self) -> int:
        """Give the greatest `pos` ever given, 0 when there was none; a deletion does not lower it."""
        return self._shared.last_pos

    async def cursor(self, pos: int) -> Cursor:
        """Look up where a reader stands (H6)."""
        last_pos = self._shared.last_pos
        return Cursor(last_pos=last_pos, is_lost=pos > last_pos)
