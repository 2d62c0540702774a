"""Turns and readings that are cancelled because the client whom they ran for has gone (H5)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

import structlog

from service.core.errors import RequestRefused, StoreFailure
from service.core.ids import ReadingId, TurnId

log = structlog.get_logger(__name__)


class LeavingClients:
    """Cancels beside the request, which ends with its client."""

    def __init__(self) -> None:
        self._cancelling: set[asyncio.Task[None]] = set()

    def soon(self, work: TurnId | ReadingId, cancel: Coroutine[None, None, object]) -> None:
        """Carry out this cancel of a turn or a reading in a task of its own."""
        task = asyncio.create_task(self._cancel(work, cancel), name=f"client of {work} left")
        self._cancelling.add(task)
        task.add_done_callback(self._cancelling.discard)

    async def _cancel(self, work: TurnId | ReadingId, cancel: Coroutine[None, None, object]) -> None:
        try:
            await cancel
        except (RequestRefused, StoreFailure) as failure:
            # It was deleted, or the store is broken: then the turn has an end of its own.
            log.info("client_left.not_cancelled", work=work, reason=str(failure))
