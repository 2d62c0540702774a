"""The writes of readings within a group's transaction.

The texts of a reading come and go in slices, each in a transaction of its own, so that other writes needn't wait for
all of them. Meanwhile its row is hidden: it has no records and an id by which nobody asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import bindparam, delete, select, update

from service.adapters.log_sql import reading_queries
from service.adapters.log_sql.log_transaction import KnownLog, LogTransaction, Placed
from service.adapters.log_sql.rows import hidden_reading_row, reading_state
from service.adapters.log_sql.tables import (
    HIDDEN_STATE,
    PART_BYTES,
    LogKind,
    document_texts,
    records,
    request_keys,
    sessions,
)
from service.core import chain
from service.core.errors import StoreFailure
from service.core.ids import ReadingId
from service.core.reading.status import ReadingStatus
from service.core.request_key import RequestKey
from service.ports import RecordDraft
from service.ports.reading_log import NewReading, ReadingDraft, StoredReadingRecord

SLICE_PARTS = 64
"""Parts of texts in one transaction, 4 MiB: measured at 40 to 60 ms, where 64 MiB at once took 0.8 to 1.7 s."""

_PART = document_texts.c
_NEXT_PARTS = (
    select(_PART.document, _PART.part)
    .where(_PART.reading_key == bindparam("of"))
    .order_by(_PART.document, _PART.part)
    .limit(SLICE_PARTS)
)
_REMOVED_PART = delete(document_texts).where(
    _PART.reading_key == bindparam("of"),
    _PART.document == bindparam("of_document"),
    _PART.part == bindparam("of_part"),
)


class TextPart(NamedTuple):
    """A part of a document's text, not copied out of it."""

    document: int
    part: int
    body: memoryview


def text_slices(documents: Sequence[bytes]) -> Iterator[Sequence[TextPart]]:
    """Cut texts into what is written in one transaction; there is at least one slice."""
    slice_: list[TextPart] = []
    for part in _parts(documents):
        if len(slice_) == SLICE_PARTS:
            yield slice_
            slice_ = []
        slice_.append(part)
    yield slice_


def _parts(documents: Sequence[bytes]) -> Iterator[TextPart]:
    for document, text in enumerate(documents, start=1):
        view = memoryview(text)
        for part, start in enumerate(range(0, max(len(view), 1), PART_BYTES)):
            yield TextPart(document, part, view[start : start + PART_BYTES])


class ReadingWrites(LogTransaction):
    """What the writer does to readings."""

    def begin_reading(self, hidden: str, reading: NewReading, status: ReadingStatus) -> None:
        """Make the hidden row of a reading.

        Raises:
            StoreFailure: the reading's id is taken.
        """
        self._refuse_taken(LogKind.READING, reading.id)
        row = hidden_reading_row(hidden, reading, status)
        key = self._insert_log(row)
        self.heads[hidden] = KnownLog(LogKind.HIDDEN, key, chain.EMPTY)

    def add_texts(self, hidden: str, texts: Iterable[TextPart]) -> None:
        """Add parts of texts to a hidden reading.

        Raises:
            StoreFailure: it is not there.
        """
        key = self._hidden(hidden).key
        rows = [{"reading_key": key, "document": at, "part": part, "body": body} for at, part, body in texts]
        self._statements.document_texts.run(self._connection, rows)

    def publish_reading(
        self,
        hidden: str,
        reading: NewReading,
        drafts: Sequence[ReadingDraft],
        status: ReadingStatus,
        request_key: RequestKey | None,
    ) -> Sequence[StoredReadingRecord]:
        """Give a hidden reading its id and its first records.

        Raises:
            StoreFailure: the id is taken, or the hidden reading is not there.
        """
        self._refuse_taken(LogKind.READING, reading.id)
        log = KnownLog(LogKind.READING, self._hidden(hidden).key, chain.EMPTY)
        shown = {"id": reading.id, "kind": log.kind.value}
        self._connection.execute(update(sessions).where(sessions.c.key == log.key).values(shown))
        self.heads.pop(hidden, None)
        self._known.heads.pop(hidden, None)
        as_kept = _as_kept(drafts)
        self._keep_key(request_key, log, as_kept, reading.created_at)
        placed = self._extend(reading.id, log, as_kept, reading_state(status), reading.created_at)
        return _stored(reading.id, drafts, placed)

    def _hidden(self, hidden: str) -> KnownLog:
        found = self._log(LogKind.HIDDEN, hidden)
        if found is None:
            raise StoreFailure("a reading that was being made is gone")
        return found

    def append_to_reading(
        self,
        reading: ReadingId,
        expected_seq: int,
        drafts: Sequence[ReadingDraft],
        status: ReadingStatus,
        now: datetime,
    ) -> Sequence[StoredReadingRecord]:
        """Append records to a reading's log.

        Raises:
            SequenceConflict: its last `seq` is another, or it is gone.
        """
        log = self._log_at(LogKind.READING, reading, expected_seq)
        placed = self._extend(reading, log, _as_kept(drafts), reading_state(status), now)
        return _stored(reading, drafts, placed)

    def hide_reading(self, reading: ReadingId) -> str | None:
        """Remove a reading's log and hide what is left of it, under the id that is given; None when it is not there."""
        log = self._log(LogKind.READING, reading)
        if log is None:
            return None
        self.flush()
        self._connection.execute(delete(records).where(records.c.session_key == log.key))
        self._connection.execute(delete(request_keys).where(request_keys.c.session_key == log.key))
        hidden = hidden_id(log.key)
        unseen = {"id": hidden, "kind": LogKind.HIDDEN.value, "state": HIDDEN_STATE}
        self._connection.execute(update(sessions).where(sessions.c.key == log.key).values(unseen))
        self._forget_logs([reading])
        return hidden

    def hide_old_readings(self, before: datetime, limit: int) -> Mapping[ReadingId, str]:
        """Hide readings that are finished and were last changed before a moment; give what they are hidden under."""
        self.flush()
        old = reading_queries.finished_before(self._connection, before, limit)
        hidden = {reading: self.hide_reading(reading) for reading in old}
        return {reading: under for reading, under in hidden.items() if under is not None}

    def remove_hidden(self, hidden: str) -> bool:
        """Remove a slice of a hidden reading's texts, or with the last of them its row; tell whether some is left."""
        log = self._log(LogKind.HIDDEN, hidden)
        if log is None:
            return False
        parts = self._connection.execute(_NEXT_PARTS, {"of": log.key}).all()
        if len(parts) == SLICE_PARTS:
            rows = [{"of": log.key, "of_document": document, "of_part": part} for document, part in parts]
            self._connection.execute(_REMOVED_PART, rows)
            return True
        self._connection.execute(delete(sessions).where(sessions.c.key == log.key))
        self.heads.pop(hidden, None)
        self._known.heads.pop(hidden, None)
        return False


def hidden_id(name: object) -> str:
    """Make the id of a hidden reading's row out of something that no other row has."""
    return f"hidden/{name}"


def _as_kept(drafts: Sequence[ReadingDraft]) -> Sequence[RecordDraft]:
    return [RecordDraft(turn=None, type=draft.type, body=draft.body) for draft in drafts]


def _stored(
    reading: ReadingId, drafts: Sequence[ReadingDraft], placed: Sequence[Placed]
) -> Sequence[StoredReadingRecord]:
    return [
        StoredReadingRecord(reading=reading, type=draft.type, seq=at.seq, pos=at.pos, body=draft.body, hash=at.hash)
        for draft, at in zip(drafts, placed, strict=True)
    ]
