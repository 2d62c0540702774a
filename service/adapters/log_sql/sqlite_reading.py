"""An SQLite store opened to be looked at: beside a running service, without its lock, and nothing is written."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from service.adapters.log_sql import sqlite_swap
from service.adapters.log_sql.failures import store_failures
from service.adapters.log_sql.sqlite_files import real_file
from service.core.errors import StoreAbsent, StoreFailure

# The primary codes of "database disk image is malformed" and of "file is not a database".
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


@contextmanager
def open_sqlite_for_reading(database: str | None, *, busy_timeout_ms: int) -> Generator[Engine]:
    """Open an existing SQLite file for one thread; each transaction sees one state of it.

    Raises:
        StoreAbsent: there is no such file.
        StoreFailure: another one is being put in its place.
    """
    path = real_file(database)
    with store_failures(f"{path.parent} can't be looked into"):
        cut_off = sqlite_swap.decided(path)
    if cut_off:
        raise StoreFailure(
            f"a backup was being restored to {path} when that was cut off: "
            "the next start of the service, or of turnkeeper restore, brings it to its end"
        )
    if not path.is_file():
        raise StoreAbsent(f"there is no file {path}")
    engine = create_engine("sqlite://", creator=lambda: _connect(path, busy_timeout_ms), poolclass=StaticPool)
    # Deferred: a snapshot from its first read on, and no lock that a writer would have to wait for.
    event.listen(engine, "begin", _begin)
    try:
        yield engine
    finally:
        engine.dispose()


def _connect(path: Path, busy_timeout_ms: int) -> sqlite3.Connection:
    try:
        return _opened(f"{path.as_uri()}?mode=ro", busy_timeout_ms)
    except sqlite3.OperationalError:
        # Without side files and where none can be made (a copy on a medium that is read-only) nobody writes.
        if path.with_name(f"{path.name}-wal").exists():
            raise
        return _opened(f"{path.as_uri()}?mode=ro&immutable=1", busy_timeout_ms)


def _opened(uri: str, busy_timeout_ms: int) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    # A file that somebody else changed may hold bytes that are no text.
    connection.text_factory = _text
    try:
        connection.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
        connection.execute("PRAGMA query_only = ON")
        # The first look into the file, which is what fails where SQLite can't work.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _text(value: bytes) -> str:
    return value.decode(errors="surrogateescape")


def _begin(connection: Connection) -> None:
    connection.connection.cursor().execute("BEGIN")


def is_damage(error: Exception) -> bool:
    """Say whether an error means that the file itself is broken, and not that it can't be read just now."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return isinstance(cause, sqlite3.Error) and getattr(cause, "sqlite_errorcode", 0) & 0xFF in _DAMAGE
