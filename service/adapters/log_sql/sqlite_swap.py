"""Puts a new database in the place of a store's, so that a crash at any moment leaves the one or the other whole.

A store may be three files, and a write-ahead log that is left beside another database would be played into it. No order
of renames is safe by itself. So the new database first gets a name that says that it is the store from now on: this one
rename decides. What follows only carries it out, and whoever opens the store next goes on with it.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from service.adapters.log_sql.sqlite_files import SIDE_FILES, beside, sync_folder

_TIME = "%Y%m%dT%H%M%SZ"
_WRITTEN_TIME = re.compile(r"\d{8}T\d{6}Z")


def put_in_place(new: Path, store: Path, now: datetime) -> Path | None:
    """Make `new`, a file in the store's folder, the store; give the new name of what was there, if anything was.

    Only for who has the store's lock.
    """
    while _is_taken(store, _written(now)):
        now += timedelta(seconds=1)
    os.replace(new, _offered(store, _written(now)))
    sync_folder(store.parent)
    return finish(store)


def finish(store: Path) -> Path | None:
    """Carry out a replacement that was decided; give the new name of what was there before.

    Only for who has the store's lock.
    """
    time = decided(store)
    if time is None:
        return None
    aside = _aside(store, time)
    for suffix in ("", *SIDE_FILES):
        with suppress(FileNotFoundError):
            os.rename(beside(store, suffix), beside(aside, suffix))
    sync_folder(store.parent)
    os.replace(_offered(store, time), store)
    sync_folder(store.parent)
    return aside if any(beside(aside, suffix).exists() for suffix in ("", *SIDE_FILES)) else None


def decided(store: Path) -> str | None:
    """Say of when a replacement is that was decided and not carried out."""
    prefix = _offered(store, "").name
    try:
        names = sorted(name for name in os.listdir(store.parent) if name.startswith(prefix))
    except (FileNotFoundError, NotADirectoryError):
        return None
    times = (name.removeprefix(prefix) for name in names)
    return next((time for time in times if _WRITTEN_TIME.fullmatch(time)), None)


def _written(moment: datetime) -> str:
    return moment.strftime(_TIME)


def _offered(store: Path, time: str) -> Path:
    return store.with_name(f".{store.name}.restored-{time}")


def _aside(store: Path, time: str) -> Path:
    return beside(store, f".replaced-{time}")


def _is_taken(store: Path, time: str) -> bool:
    return any(beside(_aside(store, time), suffix).exists() for suffix in ("", *SIDE_FILES))
