"""The store for the command line: looked at, exported, pruned, backed up, restored."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from service.adapters.log_sql import open_sql_log
from service.adapters.log_sql.audit import open_audit
from service.adapters.log_sql.backup import Backup, back_up
from service.adapters.log_sql.export import open_export
from service.adapters.log_sql.restore import Restored, restore
from service.adapters.log_sql.sqlite_files import file_at
from service.adapters.system import SystemClock
from service.bootstrap.outside import MEMORY_URL
from service.codec import encode_stored
from service.core.approval_trail import SignaturesWanted
from service.core.errors import StoreFailure
from service.core.ids import ReadingId, SessionId
from service.core.json_lines import one_line
from service.core.kept_heads import KeptHeads
from service.core.verification import Verdict
from service.turns.retention import prune


class StoreAudit(Protocol):
    """What the command line gets of a store that it only looks at; each method may raise `StoreFailure`."""

    def sessions(self) -> Iterator[SessionId]:
        """Name all sessions, oldest first."""
        ...

    def verify(self, session: SessionId, kept: KeptHeads = ..., signatures: SignaturesWanted = ...) -> Verdict | None:
        """Check one session's log; None when there is no such session (S3)."""
        ...

    def readings(self) -> Iterator[ReadingId]:
        """Name all readings, oldest first."""
        ...

    def verify_reading(self, reading: ReadingId, kept: KeptHeads = ...) -> Verdict | None:
        """Check one reading's log and its documents; None when there is no such reading (S3, R8)."""
        ...

    def homeless(self) -> Sequence[str]:
        """Say what is kept that belongs to no session and no reading."""
        ...

    def idle_before(self, moment: datetime) -> Iterator[SessionId]:
        """Name the sessions that pruning by this moment would remove (S7)."""
        ...

    def finished_before(self, moment: datetime) -> Iterator[ReadingId]:
        """Name the readings that pruning by this moment would remove (S7)."""
        ...


@contextmanager
def look_at_store(database_url: str) -> Generator[StoreAudit]:
    """Open the store for whoever checks it, also while the service runs (S3).

    Raises:
        StoreFailure: there is no such store, or it can't be read; the text says why in one line.
    """
    _refuse_memory(database_url)
    with open_audit(database_url) as audit:
        yield audit


def store_to_be_made(database_url: str) -> Path | None:
    """Name the file of a store that the next start makes; None where there is one, or none is a file.

    Raises:
        StoreFailure: the URL is none of a store.
    """
    if database_url == MEMORY_URL:
        return None
    file = file_at(database_url)
    return None if file.exists() else file


@contextmanager
def exported(database_url: str, log: str) -> Generator[Iterator[bytes] | None]:
    """Give the records of a session or a reading, as the API shows them, each a line of JSON; None when there is none.

    Raises:
        StoreFailure: there is no such store, or it can't be read; the text says why in one line.
    """
    _refuse_memory(database_url)
    with open_export(database_url) as export:
        records = export.records(log)
        yield None if records is None else (one_line(encode_stored(record)) + b"\n" for record in records)


async def prune_store(database_url: str, days: int, deleted: Callable[[SessionId | ReadingId], None]) -> int:
    """Delete what is older than `days` days from a store that no service has open; give the number (S7).

    Raises:
        StoreLocked: the service, or something else, has it open.
        StoreFailure: it can't be written; the text says why in one line.
    """
    async with open_sql_log(database_url) as log:
        return await prune(log, SystemClock(), days, deleted=deleted, deleted_reading=deleted)


def back_up_store(database_url: str, to: Path, *, force: bool, verify: bool) -> Backup:
    """Copy the store into a file that was checked, also while the service runs.

    Raises:
        StoreFailure: it can't be done; the text says why in one line, and nothing is left.
    """
    _refuse_memory(database_url)
    return back_up(database_url, to, SystemClock().now(), force=force, verify=verify)


def restore_store(backup: Path, database_url: str, *, replace: bool, verify: bool) -> Restored:
    """Put a copy of a backup in the store's place, which no service has open.

    Raises:
        StoreLocked: the service, or something else, has it open.
        StoreFailure: it can't be done; the text says why in one line.
    """
    _refuse_memory(database_url)
    return restore(backup, database_url, SystemClock().now(), replace=replace, verify=verify)


def _refuse_memory(database_url: str) -> None:
    if database_url == MEMORY_URL:
        raise StoreFailure(f"{MEMORY_URL} keeps nothing on disk; name a store with sqlite:///FILE")
