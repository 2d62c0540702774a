"""Puts a backup in the store's place, once it was checked, and sets aside what was there (D2)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from service.adapters.log_sql import sqlite_swap
from service.adapters.log_sql.copy_check import StoreContents, contents_of
from service.adapters.log_sql.failures import store_failures
from service.adapters.log_sql.lost_places import leave_places_out
from service.adapters.log_sql.sqlite_copy import bring_copy_up_to_date, copy_store, no_step, refuse_damaged
from service.adapters.log_sql.sqlite_files import (
    SIDE_FILES,
    beside,
    exclusive,
    file_at,
    part_of,
    remove_database,
    sync_file,
)
from service.adapters.log_sql.sqlite_store import BUSY_TIMEOUT_MS, make_folder, refuse_read_only
from service.core.errors import StoreAbsent, StoreFailure

_PART = ".restoring"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A backup that is the store now."""

    path: Path
    set_aside: Path | None
    """Where the store is that was there before; its side files are beside it."""
    contents: StoreContents


def restore(
    backup: Path,
    database_url: str,
    now: datetime,
    *,
    replace: bool = False,
    verify: bool = True,
    busy_timeout_ms: int = BUSY_TIMEOUT_MS,
    at_each_step: Callable[[], object] = no_step,
) -> Restored:
    """Make a copy of a backup the store at a URL, brought to this version's schema; `replace` one that is there.

    `at_each_step` is called again and again while the copy is made and checked.

    Raises:
        StoreLocked: a service has the store open.
        StoreAbsent: there is no such backup.
        StoreFailure: the backup is no good, or can't be put there; the text says why in one line.
    """
    store, source = file_at(database_url), Path(os.path.realpath(backup))
    with store_failures(f"{backup} can't be restored to {store}"):
        if not source.is_file():
            raise StoreAbsent(f"there is no file {source}")
        make_folder(store.parent)
        refuse_read_only(store.parent)
        with exclusive(store):
            sqlite_swap.finish(store)
            _remove_parts(store)
            _refuse_in_the_way(store, source, replace=replace)
            with part_of(store, _PART) as part:
                copy_store(source, part, busy_timeout_ms=busy_timeout_ms, at_each_step=at_each_step)
                contents = _good(part, source, verify=verify, at_each_step=at_each_step)
                leave_places_out(part, after=contents.last_pos)
                sync_file(part)
                set_aside = sqlite_swap.put_in_place(part, store, now)
        return Restored(path=store, set_aside=set_aside, contents=contents)


def _good(part: Path, source: Path, *, verify: bool, at_each_step: Callable[[], object]) -> StoreContents:
    refuse_damaged(part, source, at_each_step=at_each_step)
    # Now, and not at the next start, so that one that can't be migrated doesn't take the store's place.
    bring_copy_up_to_date(part)
    contents = contents_of(part, verify=verify, at_each_step=at_each_step)
    if contents.wrong:
        raise StoreFailure(
            f"something is wrong in the logs of {source}; turnkeeper verify says what, "
            "and --no-verify restores it all the same"
        )
    return contents


def _remove_parts(store: Path) -> None:
    # A restore that was killed left them; with the lock held there is no other one.
    for path in store.parent.iterdir():
        if path.name.startswith(f".{store.name}.") and path.name.endswith(_PART):
            remove_database(path)


def _refuse_in_the_way(store: Path, source: Path, *, replace: bool) -> None:
    there = [path for path in (store, *(beside(store, suffix) for suffix in SIDE_FILES)) if path.exists()]
    if source in there:
        raise StoreFailure(f"{source} is the store itself")
    if any(not path.is_file() for path in there):
        raise StoreFailure(f"{there[0]} is there and is no file")
    if there and not replace:
        raise StoreFailure(f"{there[0]} is there already; --replace sets it aside")
