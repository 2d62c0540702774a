"""The `ReadingLog` over a database: texts are written and removed slice by slice, all else as with sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import uuid4

from service.adapters.log_sql import queries, reading_queries
from service.adapters.log_sql.reader import Reader
from service.adapters.log_sql.reading_writes import TextPart, hidden_id, text_slices
from service.adapters.log_sql.transaction import GroupTransaction
from service.adapters.log_sql.writer import Writer
from service.core.ids import OwnerId, ReadingId
from service.core.reading.status import ReadingStatus
from service.core.request_key import KeyedReading, RequestKey
from service.ports.reading_log import NewReading, ReadingDraft, ReadingRow, StoredReadingRecord

T = TypeVar("T")


class SqlReadings:
    """A `ReadingLog` in a database."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader
        self._at_work: set[asyncio.Task[Any]] = set()

    async def create_reading(
        self,
        reading: NewReading,
        records: Sequence[ReadingDraft],
        documents: Sequence[bytes],
        status: ReadingStatus,
        *,
        key: RequestKey | None = None,
    ) -> Sequence[StoredReadingRecord]:
        """Make a reading with its first records and the texts of its documents: all of it can be seen, or nothing.

        Raises:
            StoreFailure: the id is taken.
        """
        hidden = hidden_id(uuid4().hex)
        *early, last = text_slices(documents)

        def begin(group: GroupTransaction) -> None:
            group.begin_reading(hidden, reading, status)

        def end(group: GroupTransaction) -> Sequence[StoredReadingRecord]:
            group.add_texts(hidden, last)
            return group.publish_reading(hidden, reading, records, status, key)

        def whole(group: GroupTransaction) -> Sequence[StoredReadingRecord]:
            begin(group)
            return end(group)

        if not early:
            return await self._writer.submit(whole)
        try:
            await self._writer.submit(begin)
            for texts in early:
                await self._writer.submit(_adding(hidden, texts))
            return await self._writer.submit(end)
        except BaseException:
            # Behind what was given to the writer so far, so it removes all of it. After a crash a start does.
            self._go_on_with(self._remove([hidden]))
            raise

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
        return await self._writer.submit(
            lambda group: group.append_to_reading(reading, expected_seq, records, status, now)
        )

    async def read_reading(
        self, reading: ReadingId, *, after_pos: int = 0, limit: int | None = None, max_bytes: int | None = None
    ) -> Sequence[StoredReadingRecord]:
        """Read records in order; it stops behind the record with which the bodies are `max_bytes` long or longer."""
        window = queries.Window(after_pos=after_pos, limit=limit, max_bytes=max_bytes)
        return await self._reader.run(lambda connection: reading_queries.read(connection, reading, window))

    async def document_text(self, reading: ReadingId, document: int, *, start: int, end: int) -> bytes | None:
        """Read bytes `start` to `end` of a document's text, through the parts that hold them."""
        return await self._reader.run(
            lambda connection: reading_queries.document_text(connection, reading, document, start, end)
        )

    async def reading(self, reading: ReadingId) -> ReadingRow | None:
        """Read one reading's row."""
        return await self._reader.run(lambda connection: reading_queries.reading(connection, reading))

    async def readings(self, *, owner: OwnerId, limit: int, before: ReadingId | None = None) -> Sequence[ReadingRow]:
        """List an owner's readings, newest first; those created before the reading `before`, when it is given."""
        return await self._reader.run(
            lambda connection: reading_queries.list_readings(connection, owner, limit, before)
        )

    async def unfinished_readings(self) -> Sequence[ReadingId]:
        """List the readings that are not finished, oldest first (R5)."""
        return await self._reader.run(reading_queries.unfinished_readings)

    async def keyed_reading(self, key: RequestKey) -> KeyedReading | None:
        """Give the reading that was made under a key (H3)."""
        return await self._reader.run(lambda connection: reading_queries.keyed(connection, key))

    async def delete_reading(self, reading: ReadingId) -> bool:
        """Remove a reading with its log, its documents and its key; False when it was not there.

        It is gone for everybody at once, and this returns when its texts are removed as well. A caller that is
        cancelled does not stop it.
        """
        return await asyncio.shield(self._go_on_with(self._delete(reading)))

    async def _delete(self, reading: ReadingId) -> bool:
        hidden = await self._writer.submit(lambda group: group.hide_reading(reading))
        if hidden is None:
            return False
        await self._remove([hidden])
        return True

    async def prune_readings(self, before: datetime, *, limit: int) -> Sequence[ReadingId]:
        """Remove at most `limit` readings that are finished and were last changed before a moment (S7)."""
        return await asyncio.shield(self._go_on_with(self._prune(before, limit)))

    async def _prune(self, before: datetime, limit: int) -> Sequence[ReadingId]:
        hidden = await self._writer.submit(lambda group: group.hide_old_readings(before, limit))
        await self._remove(hidden.values())
        return list(hidden)

    async def remove_left_over(self) -> None:
        """Begin to remove what readings left behind that were being made or deleted when the process ended."""
        left_over = await self._reader.run(reading_queries.hidden_readings)
        if left_over:
            self._go_on_with(self._remove(left_over))

    async def _remove(self, hidden: Iterable[str]) -> None:
        for each in hidden:
            while await self._writer.submit(_removing(each)):
                pass

    def _go_on_with(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Do it to its end, whoever waits for it; a failure that nobody waits for leaves work for the next start."""
        task = asyncio.create_task(work)
        self._at_work.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._at_work.discard(task)
        # Asked for, so that it doesn't count as overlooked.
        _ = task.cancelled() or task.exception()


def _adding(hidden: str, texts: Sequence[TextPart]) -> Callable[[GroupTransaction], None]:
    return lambda group: group.add_texts(hidden, texts)


def _removing(hidden: str) -> Callable[[GroupTransaction], bool]:
    return lambda group: group.remove_hidden(hidden)
