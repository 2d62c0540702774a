"""How many requests each API key sends, by the library `limits`. Above: `quotas`.

Its counters in memory are two numbers for each key, whatever the rate: a sliding window made of this minute's count and
a share of the last one's. Those of its asyncio half need no lock and no thread; the other half starts a thread for
nearly each request.
"""

from __future__ import annotations

import time
from math import floor

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter


class RequestRate:
    """Counts the requests of each key over a minute."""

    def __init__(self, per_minute: int) -> None:
        """Let so many requests of a key through in a minute, at least one."""
        self._item = RateLimitItemPerMinute(per_minute)
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def wait_s(self, key: str) -> int:
        """Count a request of this key and give 0; or the seconds until one is let through, when it is one too many.

        A request that is not let through does not count.
        """
        if await self._limiter.hit(self._item, key):
            return 0
        reset_at, _ = await self._limiter.get_window_stats(self._item, key)
        return max(1, floor(reset_at - time.time()) + 1)
