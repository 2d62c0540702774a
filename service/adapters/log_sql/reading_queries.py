"""What is asked of readings; each is one statement, but for the reading of a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from io import BytesIO
from typing import Any, cast

from sqlalchemy import Connection, and_, bindparam, select, type_coerce
from sqlalchemy.types import NullType

from service.adapters.log_sql.queries import ROWS, Window
from service.adapters.log_sql.rows import reading_row
from service.adapters.log_sql.tables import BUSY, PART_BYTES, LogKind, document_texts, records, request_keys, sessions
from service.codec import format_time
from service.core.ids import OwnerId, ReadingId
from service.core.reading.status import ReadingState
from service.core.request_key import KeyedReading, RequestKey
from service.ports.reading_log import ReadingRow, StoredReadingRecord

# Made once: building a statement costs more than running it.
_OF_READING = sessions.c.kind == LogKind.READING.value
_KEY = select(sessions.c.key).where(sessions.c.id == bindparam("reading"), _OF_READING)
_RECORDS = (
    select(records.c.type, records.c.seq, records.c.pos, records.c.body, records.c.hash)
    .where(records.c.session_key == _KEY.scalar_subquery(), records.c.pos > bindparam("after_pos"))
    .order_by(records.c.pos)
    .limit(bindparam("limit"))
)
_READINGS = ROWS.where(_OF_READING)
_READING = _READINGS.where(sessions.c.id == bindparam("reading"))
_OWNED = (
    _READINGS.where(sessions.c.owner == bindparam("owner")).order_by(sessions.c.id.desc()).limit(bindparam("limit"))
)
_OWNED_BEFORE = _OWNED.where(sessions.c.id < bindparam("before"))
_UNFINISHED = select(sessions.c.id).where(_OF_READING, BUSY).order_by(sessions.c.id)
_HIDDEN = select(sessions.c.id).where(sessions.c.kind == LogKind.HIDDEN.value, BUSY).order_by(sessions.c.id)
_FINISHED_FOR_LONG = (
    select(sessions.c.id)
    .where(
        and_(
            _OF_READING,
            sessions.c.state == ReadingState.FINISHED.value,
            sessions.c.updated_at < bindparam("moment"),
        )
    )
    .order_by(sessions.c.id)
)
_FINISHED_PAGE = _FINISHED_FOR_LONG.limit(bindparam("limit"))
_KEYED = (
    select(request_keys.c.body, sessions.c.id)
    .join(sessions, sessions.c.key == request_keys.c.session_key)
    .where(_OF_READING, *(request_keys.c[name] == bindparam(name) for name in ("owner", "method", "path", "key")))
)
_OF_DOCUMENT = and_(
    document_texts.c.reading_key == bindparam("key"), document_texts.c.document == bindparam("document")
)
_FIRST_PART = select(document_texts.c.part).where(_OF_DOCUMENT, document_texts.c.part == 0)
_PARTS = (
    # As the driver gives it: what was changed by others may be no bytes, and is not to be made into some.
    select(type_coerce(document_texts.c.body, NullType()))
    .where(_OF_DOCUMENT, document_texts.c.part.between(bindparam("first"), bindparam("last")))
    .order_by(document_texts.c.part)
)


def read(connection: Connection, reading: ReadingId, window: Window) -> Sequence[StoredReadingRecord]:
    """Read a window of a reading's records."""
    wanted = {"reading": reading, "after_pos": window.after_pos, "limit": window.bound}
    return window.filled(
        StoredReadingRecord(reading=reading, type=record_type, seq=seq, pos=pos, body=body, hash=hash_)
        for record_type, seq, pos, body, hash_ in connection.execute(_RECORDS, wanted)
    )


def reading(connection: Connection, reading: ReadingId) -> ReadingRow | None:
    """Read one reading."""
    row = connection.execute(_READING, {"reading": reading}).mappings().one_or_none()
    return None if row is None else reading_row(row)


def list_readings(connection: Connection, owner: OwnerId, limit: int, before: ReadingId | None) -> Sequence[ReadingRow]:
    """List an owner's readings, newest first: ids sort by creation."""
    wanted: dict[str, Any] = {"owner": owner, "limit": limit}
    if before is None:
        rows = connection.execute(_OWNED, wanted)
    else:
        rows = connection.execute(_OWNED_BEFORE, {**wanted, "before": before})
    return [reading_row(row) for row in rows.mappings()]


def unfinished_readings(connection: Connection) -> Sequence[ReadingId]:
    """List the readings that are not finished, oldest first."""
    return [ReadingId(found) for (found,) in connection.execute(_UNFINISHED)]


def hidden_readings(connection: Connection) -> Sequence[str]:
    """List what stands for readings whose texts were being written or removed."""
    return [found for (found,) in connection.execute(_HIDDEN)]


def finished_before(connection: Connection, before: datetime, limit: int) -> Sequence[ReadingId]:
    """List readings that are finished and were last changed before a moment, oldest first."""
    wanted = {"moment": format_time(before), "limit": limit}
    return [ReadingId(found) for (found,) in connection.execute(_FINISHED_PAGE, wanted)]


def all_finished_before(connection: Connection, before: datetime) -> Iterator[ReadingId]:
    """Give all that asking for `finished_before` again and again would give."""
    rows = connection.execute(_FINISHED_FOR_LONG, {"moment": format_time(before)}, execution_options={"yield_per": 500})
    return (ReadingId(found) for (found,) in rows)


def keyed(connection: Connection, key: RequestKey) -> KeyedReading | None:
    """Read which reading was made under a key."""
    wanted = {"owner": key.owner, "method": key.method, "path": key.path, "key": key.key}
    row = connection.execute(_KEYED, wanted).one_or_none()
    return None if row is None else KeyedReading(body=row[0], reading=ReadingId(row[1]))


def document_text(connection: Connection, reading: ReadingId, document: int, start: int, end: int) -> bytes | None:
    """Read a range of a text; None when there is no such reading or document."""
    key = connection.execute(_KEY, {"reading": reading}).scalar_one_or_none()
    return None if key is None else text_of(connection, key, document, start, end)


def text_of(connection: Connection, key: int, document: int, start: int, end: int) -> bytes | None:
    """Read a range of a text by the `key` of its reading; less where the text ends before."""
    wanted = {"key": key, "document": document}
    if start < end:
        first, last = start // PART_BYTES, (end - 1) // PART_BYTES
        # Its bytes are handed over, not copied once more: a range may be a whole text.
        taken = BytesIO()
        found = cast("Iterable[Any]", connection.scalars(_PARTS, {**wanted, "first": first, "last": last}))
        skipped = start - first * PART_BYTES
        for body in found:
            taken.write(memoryview(body)[skipped : end - start - taken.tell() + skipped])
            skipped = 0
        if taken.tell():
            return taken.getvalue()
    there = connection.execute(_FIRST_PART, wanted).one_or_none()
    return None if there is None else b""
