"""Copies an SQLite store into one file that needs no other beside it, also while a service writes the store.

One `VACUUM INTO`, which is one read transaction. Considered against SQLite's backup interface, page by page: that one
begins again whenever somebody else writes between two steps, so beside a busy writer it never ends, or has to hold a
read transaction just as well. Then it is the faster one (2 GB beside a writer: 4 to 6 s, and 5 to 12 s this way, with
the same waits for the writer), but copies what was deleted and not yet overwritten; nobody expects that in a backup.

A reader never holds up the writer of a write-ahead log. But as long as it reads, that log can't begin anew: it grows
by what is written meanwhile, for 10 GB about a minute on a fast disk, and shrinks afterwards.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from service.adapters.log_sql.failures import store_failures
from service.adapters.log_sql.migrate import migrate, schema_of
from service.adapters.log_sql.sqlite_files import has_log, sync_file
from service.adapters.log_sql.sqlite_reading import is_damage, open_sqlite_for_reading
from service.core.errors import StoreFailure

_STEP = 1_000
"""Operations of SQLite's machine between two looks at how far it is: some hundred records."""
_UNSYNCED_BYTES = 8 * 1024 * 1024
"""What is written between two syncs: with gigabytes to be written, the service's own syncs would wait for them."""


def no_step() -> None:
    """Do nothing, at each step."""


def copy_store(
    source: Path, target: Path, *, busy_timeout_ms: int, at_each_step: Callable[[], object] = no_step
) -> str:
    """Copy the store as it is at one moment into `target`, which is empty, and give its schema's revision.

    `at_each_step` is called again and again while the copy is made.

    Raises:
        StoreAbsent: there is no such store.
        StoreFailure: it is not ours, of a newer version, damaged, or the copy can't be written.
    """
    with _reading(source, source, busy_timeout_ms) as engine:
        with engine.begin() as connection:
            schema = schema_of(connection, str(source))
            if schema is None:
                raise StoreFailure(f"{source} is not a Turnkeeper database")
            needed = _size_without_gaps(connection)
            _refuse_torn(source, connection)
        _refuse_without_room(target.parent, needed)
        with _driver(engine) as connection, store_failures(f"{target.parent} can't take a copy of {source}"):
            _vacuum(connection, target, at_each_step)
            sync_file(target)
    return schema


def _size_without_gaps(connection: Connection) -> int:
    pages, free, page_size = (
        int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * page_size


def _refuse_torn(source: Path, connection: Connection) -> None:
    # SQLite takes what is missing of a last page for zeros. While there is a log, that page may be in it.
    page_size = int(connection.exec_driver_sql("PRAGMA page_size").scalar_one())
    if source.stat().st_size % page_size and not has_log(source):
        raise StoreFailure(f"{source} is damaged: its last page is cut")


def _refuse_without_room(folder: Path, needed: int) -> None:
    with store_failures(f"{folder} can't be looked at"):
        free = shutil.disk_usage(folder).free
    if free < needed:
        raise StoreFailure(f"{folder} has no room for the copy: it takes {needed} bytes, and {free} are free")


def _vacuum(connection: sqlite3.Connection, target: Path, at_each_step: Callable[[], object]) -> None:
    # The connection may read only, and SQLite takes this statement for one that writes.
    connection.execute("PRAGMA query_only = OFF")
    # The file is nobody's until it is whole, and then it is synced.
    connection.execute("PRAGMA synchronous = OFF")
    with target.open("r+b") as written:
        synced = 0

        def step() -> None:
            nonlocal synced
            at_each_step()
            size = os.fstat(written.fileno()).st_size
            if size - synced >= _UNSYNCED_BYTES:
                os.fsync(written.fileno())
                synced = size

        with _stepwise(connection, step):
            connection.execute("VACUUM INTO ?", (str(target),))


@contextmanager
def _stepwise(connection: sqlite3.Connection, step: Callable[[], object]) -> Generator[None]:
    """Have SQLite call `step` as it goes, and end what it does when that raises: else Ctrl-C would wait for its end."""
    raised: list[BaseException] = []

    def called() -> int:
        try:
            step()
        except BaseException as error:
            raised.append(error)
            return 1
        return 0

    connection.set_progress_handler(called, _STEP)
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        # Nothing else interrupts: a Ctrl-C came before `called` could take note of it.
        raise (raised[0] if raised else KeyboardInterrupt()) from None
    finally:
        connection.set_progress_handler(None, _STEP)


def refuse_damaged(copy: Path, source: Path, *, at_each_step: Callable[[], object] = no_step) -> None:
    """Have SQLite check all pages and indexes of a copy.

    Raises:
        StoreFailure: something is wrong; it is said of `source`.
    """
    with _reading(copy, source, 0) as engine, _driver(engine) as connection, _stepwise(connection, at_each_step):
        (said,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if said != "ok":
        raise StoreFailure(f"{source} is damaged: {' '.join(str(said).split())}")


def bring_copy_up_to_date(copy: Path) -> None:
    """Migrate a copy to this version's schema; it stays one file.

    Raises:
        StoreFailure: a migration fails.
    """
    with store_failures(f"{copy} can't be brought to this version"), changing(copy) as connection:
        migrate(connection, str(copy))


@contextmanager
def changing(copy: Path) -> Generator[Connection]:
    """Give a transaction in which a copy is changed; it stays one file."""
    engine = create_engine(URL.create("sqlite", database=str(copy)), poolclass=NullPool)
    event.listen(engine, "connect", _without_own_transactions)
    event.listen(engine, "begin", _begin)
    with engine.begin() as connection:
        yield connection


def _without_own_transactions(connection: sqlite3.Connection, _pooled: object) -> None:
    connection.isolation_level = None


def _begin(connection: Connection) -> None:
    connection.connection.cursor().execute("BEGIN IMMEDIATE")


@contextmanager
def _reading(path: Path, named: Path, busy_timeout_ms: int) -> Generator[Engine]:
    try:
        with open_sqlite_for_reading(str(path), busy_timeout_ms=busy_timeout_ms) as engine:
            yield engine
    except (StoreFailure, SQLAlchemyError, sqlite3.Error) as error:
        cause = error.__cause__ if isinstance(error, StoreFailure) else error
        if isinstance(cause, Exception) and is_damage(cause):
            raise StoreFailure(f"{named} is damaged, or no database: {getattr(cause, 'orig', cause)}") from error
        with store_failures(f"{named} can't be read"):
            raise


@contextmanager
def _driver(engine: Engine) -> Generator[sqlite3.Connection]:
    with closing(engine.raw_connection()) as pooled:
        assert isinstance(pooled.driver_connection, sqlite3.Connection)
        yield pooled.driver_connection
