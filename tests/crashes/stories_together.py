"""Several stories that are played at the same time and die together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable, Sequence

import httpx

from tests.crashes.stories import Story, Told


class StoriesTogether:
    """They share a mark; what happens in one is not waited for by another."""

    held = None

    def __init__(self, *stories: Story) -> None:
        self._stories = stories

    async def begin(self, http: httpx.AsyncClient) -> None:
        await _all(story.begin(http) for story in self._stories)

    async def go_on(self, http: httpx.AsyncClient) -> None:
        await _all(story.go_on(http) for story in self._stories)

    async def died(self) -> None:
        for story in self._stories:
            await story.died()

    async def logs(self) -> Sequence[str]:
        return [log for story in self._stories for log in await story.logs()]

    async def look(self, http: httpx.AsyncClient) -> Told:
        """Judge each of them."""
        told = [await story.look(http) for story in self._stories]
        return Told(
            faults=[fault for one in told for fault in one.faults],
            log=[record for one in told for record in one.log],
            sent_again=sum(one.sent_again for one in told),
            counted=sum((one.counted for one in told), Counter[str]()),
        )


async def _all(played: Iterable[Awaitable[None]]) -> None:
    ends = await asyncio.gather(*played, return_exceptions=True)
    for end in ends:
        if isinstance(end, BaseException):
            raise end
