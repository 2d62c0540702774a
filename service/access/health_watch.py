"""Waits for a server that is away: one question for all who wait (L7)."""

from __future__ import annotations

import asyncio

from service.core.errors import ModelFailure
from service.ports import Clock, Llama


class HealthWatch:
    """Asks `/health` at most every `poll_ms`, and not at all while nobody waits."""

    def __init__(self, llama: Llama, clock: Clock, *, poll_ms: int) -> None:
        self._llama = llama
        self._clock = clock
        self._poll_s = poll_ms / 1000
        self._question: asyncio.Task[bool] | None = None

    async def next_answer(self) -> bool:
        """Wait for the next answer, which all who wait now share: whether the server is there."""
        if self._question is None or self._question.done():
            self._question = asyncio.create_task(self._ask(), name="ask llama-server for its health")
        # Shielded: one that is cancelled must not take the answer from the others.
        return await asyncio.shield(self._question)

    async def _ask(self) -> bool:
        await self._clock.sleep(self._poll_s)
        try:
            await self._llama.check()
        except ModelFailure:
            return False
        return True
