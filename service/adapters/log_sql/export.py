"""A log of the store, read whole as it is at one moment, also beside a service that writes it (D2)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection

from service.adapters.log_sql import queries, reading_queries
from service.adapters.log_sql.failures import store_failures
from service.adapters.log_sql.migrate import refuse_unreadable
from service.adapters.log_sql.queries import Window
from service.adapters.log_sql.sqlite_files import file_at
from service.adapters.log_sql.sqlite_reading import open_sqlite_for_reading
from service.adapters.log_sql.sqlite_store import BUSY_TIMEOUT_MS
from service.core.ids import ReadingId, SessionId
from service.ports import StoredReadingRecord, StoredRecord

R = TypeVar("R", StoredRecord, StoredReadingRecord)

_PAGE = 200
"""Records in memory at a time; each may have megabytes."""


@dataclass(frozen=True, slots=True)
class StoreExport:
    """The store at one moment; made by `open_export`."""

    _connection: Connection

    def records(self, log: str) -> Iterator[StoredRecord | StoredReadingRecord] | None:
        """Give the records of a session or a reading by `seq`; None when there is none of this id.

        Raises:
            StoreFailure: they can't be read, also in the middle.
        """
        with _reading():
            if queries.session(self._connection, SessionId(log)) is not None:
                return self._of_session(SessionId(log))
            if reading_queries.reading(self._connection, ReadingId(log)) is not None:
                return self._of_reading(ReadingId(log))
            return None

    def _of_session(self, session: SessionId) -> Iterator[StoredRecord]:
        def page(last: StoredRecord | None) -> Sequence[StoredRecord]:
            window = Window(after_seq=0 if last is None else last.seq, limit=_PAGE)
            return queries.read(self._connection, session, window, turn=None)

        return _all(page)

    def _of_reading(self, reading: ReadingId) -> Iterator[StoredReadingRecord]:
        def page(last: StoredReadingRecord | None) -> Sequence[StoredReadingRecord]:
            window = Window(after_pos=0 if last is None else last.pos, limit=_PAGE)
            return reading_queries.read(self._connection, reading, window)

        return _all(page)


def _all(page_behind: Callable[[R | None], Sequence[R]]) -> Iterator[R]:
    last = None
    while True:
        with _reading():
            page = page_behind(last)
        if not page:
            return
        yield from page
        last = page[-1]


def _reading() -> AbstractContextManager[None]:
    return store_failures("the store can't be read")


@contextmanager
def open_export(database_url: str) -> Generator[StoreExport]:
    """Open the store at a URL as it is now.

    Raises:
        StoreFailure: it is not there, not ours, of another version, or can't be read.
    """
    file = file_at(database_url)
    with ExitStack() as stack:
        with store_failures(f"the store {file} can't be read"):
            engine = stack.enter_context(open_sqlite_for_reading(str(file), busy_timeout_ms=BUSY_TIMEOUT_MS))
            connection = stack.enter_context(engine.begin())
            refuse_unreadable(connection, str(file))
        yield StoreExport(connection)
