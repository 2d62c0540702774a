"""A request that is repeated with its key gets the first answer again, and does nothing twice (H3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from service.core.errors import ProblemCode, RequestRefused
from service.core.request_key import KeyedAnswer, RequestKey
from service.ports import SessionLog


class KeyedRequests:
    """Lets one request of a key through at a time."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self._locks: WeakValueDictionary[tuple[str, ...], asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def first(self, key: RequestKey | None) -> AsyncGenerator[KeyedAnswer | None]:
        """Give what the first request with this key created; None lets this one create it, under the key's lock.

        Raises:
            RequestRefused: the first request asked for something else (`idempotency_mismatch`).
        """
        if key is None:
            yield None
            return
        lock = self._locks.setdefault((key.owner, key.method, key.path, key.key), asyncio.Lock())
        async with lock:
            known = await self._log.keyed(key)
            if known is not None and known.body != key.body:
                raise RequestRefused(
                    ProblemCode.IDEMPOTENCY_MISMATCH,
                    "This Idempotency-Key was used with another body. Send a new key with a new request.",
                )
            yield known
