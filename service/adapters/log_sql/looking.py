"""A look at a store for `turnkeeper doctor`: beside the service that has it open, and without changing anything.

Above: `bootstrap`. Below: SQLite. How much is checked is bounded by time, not by the size of the store.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from service.adapters.log_sql.migrate import newest_schema
from service.adapters.log_sql.sqlite_files import SIDE_FILES, beside, file_at, has_log, lock_of
from service.adapters.log_sql.sqlite_reading import is_damage, open_sqlite_for_reading
from service.core.diagnosis.store import StoreFacts, StoreState
from service.core.errors import StoreAbsent, StoreFailure

CHECK_S = 2.0
"""How long SQLite may look at pages."""

_BUSY_MS = 1_000
_OPERATIONS = 1_000
_LOCKS = Path("/proc/locks")
_VERSION = "alembic_version"


def look_at_file(database_url: str, *, check_s: float = CHECK_S) -> StoreFacts:
    """Look at the store of a URL (`sqlite:///FILE`), whatever is there."""
    try:
        path = file_at(database_url)
    except StoreFailure as failure:
        return StoreFacts(state=StoreState.UNREADABLE, said=str(failure))
    facts = _state(path, check_s)
    return replace(facts, path=str(path), read_only=_read_only(path), in_use=is_locked(lock_of(path)))


def _state(path: Path, check_s: float) -> StoreFacts:
    try:
        with (
            open_sqlite_for_reading(str(path), busy_timeout_ms=_BUSY_MS) as engine,
            closing(engine.raw_connection()) as pooled,
        ):
            assert isinstance(pooled.driver_connection, sqlite3.Connection)
            return _read(path, pooled.driver_connection, check_s)
    except StoreAbsent as absent:
        return StoreFacts(state=StoreState.ABSENT, said=str(absent))
    except StoreFailure as failure:
        return StoreFacts(state=StoreState.UNREADABLE, said=str(failure))
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        cause = getattr(error, "orig", None) or error
        state = StoreState.DAMAGED if is_damage(error) else StoreState.UNREADABLE
        what = "is damaged, or no database" if state is StoreState.DAMAGED else "can't be read"
        return StoreFacts(state=state, said=f"{path} {what}: {cause}")


def _read(path: Path, connection: sqlite3.Connection, check_s: float) -> StoreFacts:
    if _is_torn(path, connection):
        return StoreFacts(state=StoreState.DAMAGED, said=f"{path} is damaged: its last page is cut")
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return StoreFacts(state=StoreState.ABSENT, said=f"{path} is empty")
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone() if _VERSION in tables else None
    if row is None:
        return StoreFacts(state=StoreState.UNREADABLE, said=f"{path} is not a Turnkeeper database")
    schema, newest = str(row[0]), newest_schema()
    if schema > newest:
        said = f"{path} was written by a newer version of Turnkeeper (schema {schema}; this version knows {newest})"
        return StoreFacts(state=StoreState.NEWER, said=said)
    fault = _quick_check(connection, check_s)
    if fault:
        return StoreFacts(state=StoreState.DAMAGED, said=f"{path} is damaged: {fault}")
    facts = StoreFacts(state=StoreState.READABLE, store_bytes=_size(path), checked=fault is not None)
    if schema < newest:
        said = f"{path} is of an older version (schema {schema}): the next start brings it to this one"
        return replace(facts, state=StoreState.OLDER, said=said)
    return facts


def _is_torn(path: Path, connection: sqlite3.Connection) -> bool:
    # SQLite takes what is missing of a last page for zeros. While there is a log, that page may be in it.
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    return path.stat().st_size % page_size != 0 and not has_log(path)


def _quick_check(connection: sqlite3.Connection, check_s: float) -> str | None:
    """Say what is wrong with the pages; empty for nothing, None where the time did not suffice."""
    ends_at = time.monotonic() + check_s
    connection.set_progress_handler(lambda: time.monotonic() >= ends_at, _OPERATIONS)
    try:
        (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return None
    finally:
        connection.set_progress_handler(None, _OPERATIONS)
    return "" if said == "ok" else " ".join(str(said).split())


def _size(path: Path) -> int:
    files = (path, *(beside(path, suffix) for suffix in SIDE_FILES))
    return sum(file.stat().st_size for file in files if file.exists())


def _read_only(path: Path) -> str | None:
    """Name what may not be written: the file, or the folder that it is in or would be made in."""
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    effective = os.access in os.supports_effective_ids
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
        return f"the folder {folder}"
    if path.exists() and not os.access(path, os.W_OK, effective_ids=effective):
        return str(path)
    return None


def is_locked(lock: Path, *, locks: Path = _LOCKS) -> bool | None:
    """Say whether a process holds the lock, without trying to take it; None where the system doesn't tell."""
    if not lock.exists():
        return False
    if not sys.platform.startswith("linux"):
        return None
    try:
        held = locks.read_text()
    except OSError:
        return None
    found = lock.stat()
    name = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    return True if name in held.split() else None
