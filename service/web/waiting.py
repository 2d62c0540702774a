"""Wait for work on behalf of a caller, no longer than the caller is there."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

T = TypeVar("T")


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T | None:
    """Give what `work` returns, or None as soon as the caller has left; `work` is cancelled then.

    `receive` must be that of a request whose body has been read.
    """
    waiting = asyncio.create_task(work, name="web: work that a caller waits for")
    leaving = asyncio.create_task(_gone(receive), name="web: watch for a caller who leaves")
    try:
        await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
        return waiting.result() if waiting.done() else None
    finally:
        waiting.cancel()
        leaving.cancel()
        await asyncio.gather(waiting, leaving, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
