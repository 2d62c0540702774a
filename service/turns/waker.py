"""Wakes the one that waits: asyncio's event for a single waiter, at a third of its cost for each token.

Above: the followers, which wait; the feeds, which wake. Below: asyncio.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol


class Wakes(Protocol):
    """What a feed wakes: one of these, or an event."""

    def set(self) -> None:
        """Wake whoever waits, or will wait next."""
        ...


class Waker:
    """Set from anywhere in the loop; waited for by one at a time.

    `instead` is asked first when there is one that waits: True when it has dealt with the news, and nobody need wake.
    """

    __slots__ = ("_is_set", "_waiter", "instead")

    def __init__(self) -> None:
        self._is_set = False
        self._waiter: asyncio.Future[None] | None = None
        self.instead: Callable[[], bool] | None = None

    def set(self) -> None:
        """Wake the one that waits, or will wait next."""
        if self._is_set:
            return
        waiter = self._waiter
        if waiter is None:
            self._is_set = True
        elif self.instead is None or not self.instead():
            self._is_set = True
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self) -> None:
        """Wait until it is set, and unset it."""
        if not self._is_set:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        self._is_set = False
