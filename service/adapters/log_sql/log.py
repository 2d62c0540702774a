"""The store over a database, a `SessionLog` and a `ReadingLog`: writes go to the one writer, reads to the readers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import datetime

from sqlalchemy import Engine, make_url

from service.adapters.log_sql import families, queries
from service.adapters.log_sql.failures import store_failures
from service.adapters.log_sql.reader import Reader
from service.adapters.log_sql.reading_log import SqlReadings
from service.adapters.log_sql.sqlite_store import BUSY_TIMEOUT_MS, open_sqlite
from service.adapters.log_sql.writer import Committed, Writer
from service.core.errors import StoreFailure
from service.core.ids import OwnerId, SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.request_key import KeyedAnswer, RequestKey
from service.core.session_status import SessionStatus
from service.ports import NewSession, RecordDraft, SessionRow, StoredRecord
from service.ports.cursor import Cursor

_READERS = 2
"""Threads that read: enough that one long export doesn't hold up the others' reads."""


@asynccontextmanager
async def open_sql_log(
    database_url: str,
    *,
    readers: int = _READERS,
    busy_timeout_ms: int = BUSY_TIMEOUT_MS,
    committed: Committed | None = None,
) -> AsyncGenerator[SqlLog]:
    """Open the store at an SQLAlchemy URL (`sqlite:///FILE`); at the end, write what was given and close it.

    `committed` is told of each commit, in the writer's thread.

    Raises:
        StoreLocked: another process has it open.
        StoreFailure: it can't be opened; the text says why in one line.
    """
    stack = ExitStack()
    try:
        writing, reading = await asyncio.to_thread(_open_engines, stack, database_url, readers, busy_timeout_ms)
        reader = Reader(reading, readers)
        stack.callback(reader.close)
        writer = Writer(writing, committed)
        stack.callback(writer.join)
        try:
            log = SqlLog(writer, reader)
            await log.remove_left_over()
            yield log
        finally:
            writer.stop()
    finally:
        # In a thread, since closing waits for the disk; a cancelled closing goes on there to its end.
        await asyncio.to_thread(stack.close)


def _open_engines(stack: ExitStack, database_url: str, readers: int, busy_timeout_ms: int) -> tuple[Engine, Engine]:
    with store_failures("the store's address can't be read"):
        url = make_url(database_url)
    with store_failures(f"the store {url.render_as_string()} can't be opened"):
        if url.get_backend_name() != "sqlite":
            raise StoreFailure(f"no store for {url.get_backend_name()} databases; use sqlite:///FILE")
        return stack.enter_context(open_sqlite(url, readers=readers, busy_timeout_ms=busy_timeout_ms))


class SqlLog(SqlReadings):
    """A `SessionLog` and a `ReadingLog` in a database; made by `open_sql_log`."""

    async def create_session(
        self,
        session: NewSession,
        records: Sequence[RecordDraft],
        status: SessionStatus,
        *,
        key: RequestKey | None = None,
        at_most: int = 0,
    ) -> Sequence[StoredRecord]:
        """Make a session and append its first records in one transaction.

        Raises:
            TooManySessions: the owner would have more than `at_most`.
            StoreFailure: the id is taken, or the parent is not there.
        """
        return await self._writer.submit(lambda group: group.create(session, records, status, key, at_most))

    async def append(
        self,
        session: SessionId,
        expected_seq: int,
        records: Sequence[RecordDraft],
        status: SessionStatus,
        now: datetime,
        *,
        key: RequestKey | None = None,
    ) -> Sequence[StoredRecord]:
        """Append all records or none; they are on disk when this returns (S1, S2).

        A caller that is cancelled gets no answer, and the records may be appended all the same.

        Raises:
            SequenceConflict: the log's last `seq` is not `expected_seq`, or the session is gone.
        """
        return await self._writer.submit(lambda group: group.append(session, expected_seq, records, status, now, key))

    async def read(
        self,
        session: SessionId,
        *,
        after_seq: int = 0,
        after_pos: int = 0,
        limit: int | None = None,
        max_bytes: int | None = None,
        turn: TurnId | None = None,
    ) -> Sequence[StoredRecord]:
        """Read records in order; those of one turn only, when `turn` is given."""
        window = queries.Window(after_seq=after_seq, after_pos=after_pos, limit=limit, max_bytes=max_bytes)
        return await self._reader.run(lambda connection: queries.read(connection, session, window, turn=turn))

    async def read_all(
        self, owner: OwnerId, *, after_pos: int, limit: int, max_bytes: int | None = None
    ) -> Sequence[StoredRecord]:
        """Read records of all sessions of an owner, by `pos` (H6)."""
        window = queries.Window(after_pos=after_pos, limit=limit, max_bytes=max_bytes)
        return await self._reader.run(lambda connection: queries.read_all(connection, owner, window))

    async def family(self, session: SessionId) -> Sequence[SessionId]:
        """List a session and its children at every depth, oldest first (G2)."""
        return await self._reader.run(lambda connection: families.family(connection, session))

    async def read_family(
        self, session: SessionId, *, after_pos: int, limit: int, max_bytes: int | None = None
    ) -> Sequence[StoredRecord]:
        """Read records of a session and of its children at every depth, by `pos` (H6, G2)."""
        window = queries.Window(after_pos=after_pos, limit=limit, max_bytes=max_bytes)
        return await self._reader.run(lambda connection: families.read_family(connection, session, window))

    async def read_turn_family(
        self,
        session: SessionId,
        turn: TurnId,
        *,
        types_below: Sequence[str],
        after_pos: int,
        limit: int,
        max_bytes: int | None = None,
    ) -> Sequence[StoredRecord]:
        """Read records of a turn and those, of some types, of the turns that it was handed over to, by `pos` (G2)."""
        window = queries.Window(after_pos=after_pos, limit=limit, max_bytes=max_bytes)
        return await self._reader.run(
            lambda connection: families.read_turn_family(connection, session, turn, types_below, window)
        )

    async def full_text(self, session: SessionId, seq: int) -> bytes | None:
        """Read the whole text of the cut result at this seq; None when the record has none (T9)."""
        return await self._reader.run(lambda connection: queries.full_text(connection, session, seq))

    async def keyed(self, key: RequestKey) -> KeyedAnswer | None:
        """Give what was created under a key (H3)."""
        return await self._reader.run(lambda connection: queries.keyed(connection, key))

    async def forget_keys(self, before: datetime) -> None:
        """Forget the keys that were kept before a moment."""
        await self._writer.submit(lambda group: group.forget_keys(before))

    async def last_pos(self) -> int:
        """Give the greatest `pos` ever given, 0 when there was none; a deletion does not lower it."""
        return await self._reader.run(queries.last_pos)

    async def cursor(self, pos: int) -> Cursor:
        """Look up where a reader stands that has seen all up to `pos` (H6)."""
        return await self._reader.run(lambda connection: queries.cursor(connection, pos))

    async def session(self, session: SessionId) -> SessionRow | None:
        """Read one session's row."""
        return await self._reader.run(lambda connection: queries.session(connection, session))

    async def sessions(
        self, *, owner: OwnerId | None, limit: int, before: SessionId | None = None, search: str = ""
    ) -> Sequence[SessionRow]:
        """List sessions, newest first; those before `before`, and those that `search` is found in."""
        return await self._reader.run(
            lambda connection: queries.list_sessions(connection, owner=owner, limit=limit, before=before, search=search)
        )

    async def busy_sessions(self) -> Sequence[SessionId]:
        """List the sessions whose status is not idle, oldest first (S4)."""
        return await self._reader.run(queries.busy_sessions)

    async def awaiting(self, owner: OwnerId) -> Sequence[SessionRow]:
        """List the sessions of an owner that wait for a person, oldest first (A6)."""
        return await self._reader.run(lambda connection: queries.awaiting(connection, owner))

    async def update_session(
        self, session: SessionId, *, title: str | None, metadata: JsonObject | None, now: datetime
    ) -> SessionRow | None:
        """Change what a person may change; None leaves a value as it is."""
        return await self._writer.submit(lambda group: group.update(session, title=title, metadata=metadata, now=now))

    async def delete_session(self, session: SessionId) -> Sequence[SessionId]:
        """Remove a session with its log, its full results and its children; give the ids of all (H9)."""
        return await self._writer.submit(lambda group: group.delete(session))

    async def prune(self, before: datetime, *, limit: int) -> Sequence[SessionId]:
        """Remove at most `limit` sessions that are idle and were last changed before a moment (S7)."""
        return await self._writer.submit(lambda group: group.prune(before, limit))

    async def put_specs(self, specs_hash: str, specs: bytes) -> None:
        """Keep a spec list once, under the hash of its bytes (X3)."""
        await self._writer.submit(lambda group: group.put_specs(specs_hash, specs))

    async def specs(self, specs_hash: str) -> bytes | None:
        """Read a spec list."""
        return await self._reader.run(lambda connection: queries.spec_list(connection, specs_hash))

    async def check(self) -> None:
        """See whether the writer is at work and the database answers (readyz)."""
        self._writer.check()
        await self._reader.run(queries.last_pos)
