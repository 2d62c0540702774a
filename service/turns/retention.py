"""Deletes sessions that nobody has used for long, and readings that ended long ago, page by page (S7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Protocol

import structlog

from service.core.errors import StoreFailure
from service.core.ids import ReadingId, SessionId
from service.ports import Clock, ReadingLog, SessionLog

log = structlog.get_logger(__name__)

PAGE = 50
"""Sessions in one transaction: other writes wait for no more than that."""

KEYS_KEPT = timedelta(hours=48)
"""How long a key answers at least is a day less: old ones are looked for once a day (H3)."""

_DAY_S = 24 * 60 * 60.0

Deleted = Callable[[SessionId], None]
"""Is told of each session that is gone, so that nothing of it stays in memory and its followers end (H9)."""

DeletedReading = Callable[[ReadingId], None]
"""Is told of each reading that is gone; it had ended, and with it its followers."""


class PrunedLog(SessionLog, ReadingLog, Protocol):
    """The store of both."""


def _tell_nobody(_gone: SessionId | ReadingId) -> None:
    """Do nothing: nobody follows it."""


async def prune(
    store: PrunedLog,
    clock: Clock,
    days: int,
    *,
    deleted: Deleted = _tell_nobody,
    deleted_reading: DeletedReading = _tell_nobody,
) -> int:
    """Delete what is unchanged for more than `days` days: idle sessions, ended readings; give their number (S7, H9).

    A session that is busy stays, and so does one with a child that stays. 0 days keep everything.

    Raises:
        StoreFailure: a page could not be deleted; those before it are.
    """
    if days == 0:
        return 0
    before = clock.now() - timedelta(days=days)
    number = 0
    while pruned := await store.prune(before, limit=PAGE):
        for session in pruned:
            deleted(session)
        number += len(pruned)
    while readings := await store.prune_readings(before, limit=PAGE):
        for reading in readings:
            deleted_reading(reading)
        number += len(readings)
    return number


async def prune_each_day(store: PrunedLog, clock: Clock, days: int, *, deleted: Deleted = _tell_nobody) -> None:
    """Prune now and once a day, until cancelled; a day on which the store fails is passed over."""

    async def prune_now() -> None:
        number = await prune(store, clock, days, deleted=deleted)
        log.info("sessions.pruned", number=number, retention_days=days)

    if days > 0:
        await _each_day(clock, prune_now, failed="sessions.not_pruned")


async def forget_keys_each_day(store: SessionLog, clock: Clock) -> None:
    """Forget old keys of requests now and once a day, until cancelled; a failing store is asked again the next day."""
    await _each_day(clock, lambda: store.forget_keys(clock.now() - KEYS_KEPT), failed="keys.not_forgotten")


async def _each_day(clock: Clock, work: Callable[[], Awaitable[None]], *, failed: str) -> None:
    while True:
        try:
            await work()
        except StoreFailure as failure:
            log.error(failed, reason=str(failure))
        await clock.sleep(_DAY_S)
