"""All that is SQLite's own: the file, its lock, its settings, how its transactions begin (S2)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import NullPool

from service.adapters.log_sql.migrate import migrate
from service.core.errors import StoreFailure, StoreLocked

_BUSY_TIMEOUT_MS = 5_000
"""How long a statement waits while another program (a backup, a shell) holds the file."""

_WAL_KEPT_BYTES = 64 * 1024 * 1024
"""What the write-ahead log shrinks to after a burst; without a limit it keeps its greatest size."""


@contextmanager
def open_sqlite(url: URL, *, readers: int) -> Generator[tuple[Engine, Engine]]:
    """Open an SQLite file for this process alone: an engine that writes, and one for `readers` threads.

    Raises:
        StoreLocked: another process, or another part of this one, has it open.
        StoreFailure: it is not ours, of a newer version, or where SQLite can't work.
    """
    if url.database in (None, "", ":memory:"):
        raise StoreFailure("the database URL names no file; it should look like sqlite:///FOLDER/FILE")
    path = Path(url.database).absolute()
    with ExitStack() as stack:
        path.parent.mkdir(parents=True, exist_ok=True)
        stack.enter_context(_exclusive(path))
        # SQLite gives its side files the rights of the database: what people said is for the owner's eyes.
        path.touch(mode=0o600)
        _bring_up_to_date(path)
        writer = _engine(path, _prepare_writer, pool_size=1)
        stack.callback(writer.dispose)
        event.listen(writer, "begin", _begin)
        # Each read is one statement, which sees one state of the file without a transaction around it.
        reader = _engine(path, _prepare_reader, pool_size=readers, isolation_level="AUTOCOMMIT")
        stack.callback(reader.dispose)
        yield writer, reader


@contextmanager
def _exclusive(path: Path) -> Generator[None]:
    lock_file = path.with_name(f"{path.name}.lock")
    # The file stays when the lock goes: removing it would let two processes lock two files of the same name.
    # Opened in one thread and closed in another, so the lock must not belong to a thread.
    lock = FileLock(lock_file, timeout=0, thread_local=False, preserve_lock_file=True)
    try:
        lock.acquire()
    except Timeout as error:
        raise StoreLocked(f"{path} is in use by another process (it holds the lock {lock_file})") from error
    try:
        yield
    finally:
        lock.release()


def _bring_up_to_date(path: Path) -> None:
    # A migration may rebuild a table: with foreign keys on, dropping the old one empties those that name it.
    engine = _engine(path, _prepare, poolclass=NullPool)
    event.listen(engine, "begin", _begin)
    with engine.begin() as connection:
        migrate(connection, str(path))


def _engine(path: Path, prepare: Callable[[sqlite3.Connection, object], None], **options: Any) -> Engine:
    engine = create_engine(URL.create("sqlite", database=str(path)), **options)
    event.listen(engine, "connect", prepare)
    return engine


def _prepare_writer(connection: sqlite3.Connection, pooled: object) -> None:
    _prepare(connection, pooled)
    connection.execute("PRAGMA foreign_keys = ON")


def _prepare_reader(connection: sqlite3.Connection, pooled: object) -> None:
    _prepare(connection, pooled)
    connection.execute("PRAGMA query_only = ON")


def _prepare(connection: sqlite3.Connection, _pooled: object) -> None:
    # The driver must not begin transactions by itself: it would do so without IMMEDIATE, and not before DDL.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreFailure("SQLite can't keep a write-ahead log there: put the database on a local disk")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_KEPT_BYTES}")


def _begin(connection: Connection) -> None:
    # IMMEDIATE takes the lock now, where waiting is possible, not in the middle.
    connection.connection.cursor().execute("BEGIN IMMEDIATE")
