"""A request that is repeated with its key gets the first answer again, and does nothing twice (H3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from service.core.errors import ProblemCode, RequestRefused
from service.core.request_key import KeyedAnswer, KeyedReading, RequestKey

Created = TypeVar("Created", KeyedAnswer, KeyedReading)


class KeyedRequests(Generic[Created]):
    """Lets one request of a key through at a time; `known` asks the store what a key created."""

    def __init__(self, known: Callable[[RequestKey], Awaitable[Created | None]]) -> None:
        self._known = known
        self._locks: WeakValueDictionary[tuple[str, ...], asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def first(self, key: RequestKey | None) -> AsyncGenerator[Created | None]:
        """Give what the first request with this key created; None lets this one create it, under the key's lock.

        Raises:
            RequestRefused: the first request asked for something else (`idempotency_mismatch`).
        """
        if key is None:
            yield None
            return
        lock = self._locks.setdefault((key.owner, key.method, key.path, key.key), asyncio.Lock())
        async with lock:
            known = await self._known(key)
            if known is not None and known.body != key.body:
                raise RequestRefused(
                    ProblemCode.IDEMPOTENCY_MISMATCH,
                    "This Idempotency-Key was used with another body. Send a new key with a new request.",
                )
            yield known
