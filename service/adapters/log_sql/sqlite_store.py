"""All that is SQLite's own where a store is opened: its settings, how its transactions begin (S2)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import NullPool

from service.adapters.log_sql import sqlite_swap
from service.adapters.log_sql.migrate import migrate
from service.adapters.log_sql.sqlite_files import exclusive, real_file
from service.core.errors import StoreFailure

BUSY_TIMEOUT_MS = 5_000
"""How long a statement waits while another program (a backup, a shell) holds the file."""

_WAL_KEPT_BYTES = 64 * 1024 * 1024
"""What the write-ahead log shrinks to after a burst; without a limit it keeps its greatest size."""

_EFFECTIVE_IDS = os.access in os.supports_effective_ids


@contextmanager
def open_sqlite(url: URL, *, readers: int, busy_timeout_ms: int) -> Generator[tuple[Engine, Engine]]:
    """Open an SQLite file for this process alone: an engine that writes, and one for `readers` threads.

    Raises:
        StoreLocked: another process, or another part of this one, has it open.
        StoreFailure: it is not ours, of a newer version, or where SQLite can't work.
    """
    path = real_file(url.database)
    with ExitStack() as stack:
        make_folder(path.parent)
        refuse_read_only(path.parent)
        if path.is_dir():
            raise StoreFailure(f"{path} is a folder; name a file in it")
        stack.enter_context(exclusive(path))
        sqlite_swap.finish(path)
        # SQLite gives its side files the rights of the database: what people said is for the owner's eyes.
        path.touch(mode=0o600)
        refuse_read_only(path)
        _refuse_emptied(path)
        _refuse_torn(path, page_size=_bring_up_to_date(path, busy_timeout_ms))
        writer = _engine(path, _prepare_writer, busy_timeout_ms, pool_size=1)
        stack.callback(writer.dispose)
        event.listen(writer, "begin", _begin)
        # Each read is one statement, which sees one state of the file without a transaction around it.
        reader = _engine(path, _prepare_reader, busy_timeout_ms, pool_size=readers, isolation_level="AUTOCOMMIT")
        stack.callback(reader.dispose)
        yield writer, reader


def make_folder(folder: Path) -> None:
    """Make the folder of a store, if it isn't there.

    Raises:
        StoreFailure: it can't be made; the text says why.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise StoreFailure(f"{folder} can't be a folder: it, or a part of the way to it, is a file") from error
    except OSError as error:
        raise StoreFailure(f"the folder {folder} can't be made: {error.strerror}") from error


def refuse_read_only(path: Path) -> None:
    """Refuse a file or a folder that this user may not write.

    Raises:
        StoreFailure: it is one.
    """
    # SQLite opens a read-only file without a word, and then every turn fails.
    if not os.access(path, os.W_OK, effective_ids=_EFFECTIVE_IDS):
        raise StoreFailure(f"{path} is read-only for this user, and the store has to be written")


def _refuse_emptied(path: Path) -> None:
    # SQLite would take the file for a new one and throw the write-ahead log away.
    if path.stat().st_size <= 1 and _has_write_ahead_log(path):
        raise StoreFailure(f"{path} is damaged: it is empty, but its write-ahead log is not; restore it from a backup")


def _has_write_ahead_log(path: Path) -> bool:
    side_file = path.with_name(f"{path.name}-wal")
    return side_file.exists() and side_file.stat().st_size > 0


def _refuse_torn(path: Path, *, page_size: int) -> None:
    # SQLite takes what is missing of the last page for zeros. While there is a write-ahead log, that page is in it:
    # a crash may have stopped the copying in the middle.
    if path.stat().st_size % page_size and not _has_write_ahead_log(path):
        raise StoreFailure(f"{path} is damaged: its last page is cut; restore it from a backup")


def _bring_up_to_date(path: Path, busy_timeout_ms: int) -> int:
    """Migrate the file and give its page size, in bytes."""
    # A migration may rebuild a table: with foreign keys on, dropping the old one empties those that name it.
    engine = _engine(path, _prepare, busy_timeout_ms, poolclass=NullPool)
    event.listen(engine, "begin", _begin)
    with engine.begin() as connection:
        migrate(connection, str(path))
        page_size: int = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
    return page_size


def _engine(
    path: Path, prepare: Callable[[sqlite3.Connection, object], None], busy_timeout_ms: int, **options: Any
) -> Engine:
    timeout = {"timeout": busy_timeout_ms / 1000}
    engine = create_engine(URL.create("sqlite", database=str(path)), connect_args=timeout, **options)
    event.listen(engine, "connect", prepare)
    return engine


def _prepare_writer(connection: sqlite3.Connection, pooled: object) -> None:
    _prepare(connection, pooled)
    connection.execute("PRAGMA foreign_keys = ON")


def _prepare_reader(connection: sqlite3.Connection, pooled: object) -> None:
    _prepare(connection, pooled)
    connection.execute("PRAGMA query_only = ON")
    # SQLite's own knows the letters of ASCII only.
    connection.create_function("lower", 1, _lower, deterministic=True)


def _lower(text: str | None) -> str | None:
    return None if text is None else text.casefold()


def _prepare(connection: sqlite3.Connection, _pooled: object) -> None:
    # The driver must not begin transactions by itself: it would do so without IMMEDIATE, and not before DDL.
    connection.isolation_level = None
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreFailure("SQLite can't keep a write-ahead log there: put the database on a local disk")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_KEPT_BYTES}")


def _begin(connection: Connection) -> None:
    # IMMEDIATE takes the lock now, where waiting is possible, not in the middle.
    connection.connection.cursor().execute("BEGIN IMMEDIATE")
