"""What is asked at each scrape: how the work stands, and how big the store is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from service.adapters.log_sql.sqlite_files import beside, file_at
from service.core.errors import StoreFailure
from service.ports.meter import Standing, StoreSize
from service.readings.readings import Readings
from service.turns.assembly import Turns


def standing_of(turns: Turns, readings: Readings) -> Callable[[], Standing]:
    """Give what says how things stand; it is quick, and reads nothing."""

    def standing() -> Standing:
        gate, now = turns.gate, turns.open_work.now()
        return Standing(
            permits=gate.capacity,
            permits_in_use=gate.in_use,
            permits_waited_for=gate.waiting,
            turns_running=now.running,
            turns_awaiting_approval=now.awaiting_approval,
            turns_queued=now.queued,
            approvals_pending=now.approvals_pending,
            oldest_approval_age_s=now.oldest_approval_age_s,
            readings_open=readings.going,
        )

    return standing


def store_size(database_url: str) -> Callable[[], StoreSize | None]:
    """Give what looks at the store's files, which is not quick; it gives None for a store that has none."""

    def size() -> StoreSize | None:
        # What can't be looked at must not keep the other numbers from being told.
        with suppress(StoreFailure, OSError):
            path = file_at(database_url)
            return StoreSize(
                database_bytes=path.stat().st_size,
                wal_bytes=_bytes_of(beside(path, "-wal")),
                free_bytes=shutil.disk_usage(path.parent).free,
            )
        return None

    return size


def _bytes_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
