"""Copies the store into a file of its own that was checked, also while the service runs (D2)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from service.adapters.log_sql.copy_check import StoreContents, contents_of
from service.adapters.log_sql.failures import store_failures
from service.adapters.log_sql.migrate import newest_schema
from service.adapters.log_sql.sqlite_copy import bring_copy_up_to_date, copy_store, no_step, refuse_damaged
from service.adapters.log_sql.sqlite_files import SIDE_FILES, beside, file_at, lock_of, part_of, sync_folder
from service.adapters.log_sql.sqlite_store import BUSY_TIMEOUT_MS
from service.core.errors import StoreFailure

_PART = ".part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A copy that is in its place."""

    path: Path
    size_bytes: int
    contents: StoreContents


def back_up(
    database_url: str,
    to: Path,
    now: datetime,
    *,
    force: bool = False,
    verify: bool = True,
    busy_timeout_ms: int = BUSY_TIMEOUT_MS,
    at_each_step: Callable[[], object] = no_step,
) -> Backup:
    """Copy the store at a URL to a file, or into a folder under a name with the time, and check the copy.

    Logs that are wrong in the store are so in the copy: they are counted in its contents, and the copy is kept, unless
    it would replace another. `at_each_step` is called again and again while the copy is made and checked.

    Raises:
        StoreAbsent: there is no such store.
        StoreFailure: it is damaged, or the copy can't be made; the text says why in one line, and nothing is left.
    """
    store = file_at(database_url)
    with store_failures(f"a backup can't be written to {to}"):
        path = _target(to, store, now)
        _refuse_taken(path, store, force=force)
        with part_of(path, _PART) as part:
            schema = copy_store(store, part, busy_timeout_ms=busy_timeout_ms, at_each_step=at_each_step)
            refuse_damaged(part, store, at_each_step=at_each_step)
            contents = _contents(part, schema, verify=verify, at_each_step=at_each_step)
            _refuse_taken(path, store, force=force)
            if contents.wrong and path.exists():
                raise StoreFailure(
                    f"{path} was not replaced: something is wrong in the logs of {store}; turnkeeper verify says what"
                )
            os.replace(part, path)
            sync_folder(path.parent)
        return Backup(path=path, size_bytes=path.stat().st_size, contents=contents)


def _target(to: Path, store: Path, now: datetime) -> Path:
    to = Path(os.path.realpath(to))
    path = to / f"{store.stem}-{now:%Y%m%dT%H%M%SZ}.db" if to.is_dir() else to
    if not path.parent.is_dir():
        raise StoreFailure(f"there is no folder {path.parent}")
    return path


def _refuse_taken(path: Path, store: Path, *, force: bool) -> None:
    if path in (store, lock_of(store), *(beside(store, suffix) for suffix in SIDE_FILES)):
        raise StoreFailure(f"{path} belongs to the store itself; name another file")
    for suffix in SIDE_FILES:
        # It would be played into the copy by whoever opens that.
        if (left := beside(path, suffix)).exists():
            raise StoreFailure(f"{left} belongs to another database; name another file")
    if path.exists() and not path.is_file():
        raise StoreFailure(f"{path} is there and is no file")
    if path.exists() and not force:
        raise StoreFailure(f"{path} is there already; --force replaces it")


def _contents(part: Path, schema: str, *, verify: bool, at_each_step: Callable[[], object]) -> StoreContents:
    if schema == newest_schema():
        return contents_of(part, verify=verify, at_each_step=at_each_step)
    # The backup stays what the older version can read. What this version checks is a copy that it brought up to date.
    with part_of(part, _PART) as scratch:
        copy_store(part, scratch, busy_timeout_ms=0, at_each_step=at_each_step)
        bring_copy_up_to_date(scratch)
        return contents_of(scratch, verify=verify, at_each_step=at_each_step)
