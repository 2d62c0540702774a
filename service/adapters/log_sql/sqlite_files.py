"""The files of an SQLite store: the database, what SQLite keeps beside it, and the lock."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import make_url

from service.adapters.log_sql.failures import store_failures
from service.core.errors import StoreFailure, StoreLocked

LOGS = ("-wal", "-journal")
"""What SQLite adds to a database's name for what may not be in the database yet."""
SIDE_FILES = (*LOGS, "-shm")
"""All that it adds to it."""


def file_at(database_url: str) -> Path:
    """Give the database file that a URL (`sqlite:///FILE`) names.

    Raises:
        StoreFailure: it names none.
    """
    with store_failures("the store's address can't be read"):
        url = make_url(database_url)
    if url.get_backend_name() != "sqlite":
        raise StoreFailure(f"no store for {url.get_backend_name()} databases; use sqlite:///FILE")
    return real_file(url.database)


def real_file(database: str | None) -> Path:
    """Give the file itself where a symbolic link is on the way to it.

    Raises:
        StoreFailure: the name is none of a file.
    """
    if database in (None, "", ":memory:"):
        raise StoreFailure("the database URL names no file; it should look like sqlite:///FOLDER/FILE")
    # SQLite puts its side files beside the file, not beside the link, and two names of one file must mean one lock.
    return Path(os.path.realpath(database))


def beside(path: Path, suffix: str) -> Path:
    """Give the file whose name is this one's and a suffix."""
    return path.with_name(f"{path.name}{suffix}")


def lock_of(path: Path) -> Path:
    """Give the file that whoever opens the store locks."""
    return beside(path, ".lock")


def has_log(path: Path) -> bool:
    """Say whether something is beside the database that may not be in it yet."""
    logs = (beside(path, suffix) for suffix in LOGS)
    return any(log.exists() and log.stat().st_size > 0 for log in logs)


@contextmanager
def exclusive(path: Path) -> Generator[None]:
    """Keep others from opening the store.

    Raises:
        StoreLocked: somebody has it open.
    """
    lock_file = lock_of(path)
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


@contextmanager
def part_of(path: Path, suffix: str) -> Generator[Path]:
    """Make an empty file beside `path`, for its owner's eyes, which is gone at the end unless it was renamed."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=suffix)
    os.close(descriptor)
    part = Path(name)
    try:
        yield part
    finally:
        remove_database(part)


def remove_database(path: Path) -> None:
    """Remove a database and what is beside it, as far as that is possible."""
    for each in (path, *(beside(path, suffix) for suffix in SIDE_FILES)):
        with suppress(OSError):
            each.unlink(missing_ok=True)


def sync_file(path: Path) -> None:
    """Wait until what was written into a file is on the disk."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the file system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
