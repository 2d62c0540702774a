"""Waits for a write to its end, also when whoever waits is cancelled: what is in the log and what is known never part.

A store may carry out a write whose caller has gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Got = TypeVar("Got")


async def written(write: Coroutine[Any, Any, Got]) -> Got:
    """Carry out a write; a cancel that comes while it is under way waits for its end.

    Raises:
        CancelledError: one came; the write has ended, well or not.
    """
    writing = asyncio.ensure_future(write)
    try:
        return await asyncio.shield(writing)
    except asyncio.CancelledError:
        while not writing.done():
            # A second cancel must not leave the write alone either; the write itself is bounded by the store.
            try:
                await asyncio.wait({writing})
            except asyncio.CancelledError:
                continue
        writing.exception()
        raise
