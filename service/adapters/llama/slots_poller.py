"""The one poller of the process: it looks at the slots while something waits, and all that wait share a look (L2).

Polling faster than `poll_ms` keeps llama-server from noticing clients that left, and polling at all wakes a server
that sleeps. So nothing is asked while nothing waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from service.adapters.llama.slots import Look


class SlotsPoller:
    """Calls `look` at most every `poll_ms`, and never twice at a time; `sleep` and `now` are the loop's clock."""

    def __init__(
        self,
        look: Callable[[], Awaitable[Look]],
        *,
        poll_ms: int,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        now: Callable[[], float] | None = None,
    ) -> None:
        self._look = look
        self._sleep = sleep
        self._now = now
        self._poll_s = poll_ms / 1000
        self._watchers = 0
        self._next_at = 0.0
        self._looking: asyncio.Task[Look] | None = None

    @asynccontextmanager
    async def watching(self) -> AsyncGenerator[None]:
        """Be one of those that wait; when the last one leaves, a look that is under way is broken off."""
        self._watchers += 1
        try:
            yield
        finally:
            self._watchers -= 1
            looking = self._looking
            if not self._watchers and looking is not None:
                self._looking = None
                looking.cancel()
                await asyncio.wait({looking})

    def next_look(self) -> asyncio.Task[Look]:
        """Give the look that is under way or comes next. It is shared: wait for it, but don't cancel it."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_in_time(), name="look at the slots")
        return self._looking

    async def _look_in_time(self) -> Look:
        now = self._now or asyncio.get_running_loop().time
        await self._sleep(self._next_at - now())
        self._next_at = now() + self._poll_s
        return await self._look()
