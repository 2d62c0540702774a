"""A model and a tool port that go on one piece at a time, as far as a test lets them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from service.core.completion_events import Completion, CompletionDelta
from service.core.completion_request import CompletionRequest
from service.core.json_types import JsonObject
from service.core.tool_port import ToolAnswer, ToolRequest
from service.ports import Take
from tests.fakes.llama import Play, ScriptedLlama
from tests.fakes.tool_port import TablePort

# Rounds of the event loop in which everything that can happen without a disk or a socket has happened.
_ROUNDS = 60


async def settle() -> None:
    """Let everything happen that waits for nothing but its place in the event loop."""
    for _ in range(_ROUNDS):
        await asyncio.sleep(0)


class Turnstile:
    """Lets pieces through, in the order in which they came to it."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(0)
        self._open = False

    async def __call__(self) -> None:
        """Wait for a place."""
        if not self._open:
            await self._places.acquire()

    def let(self, pieces: int) -> None:
        """Let so many pieces through."""
        for _ in range(pieces):
            self._places.release()

    def open(self) -> None:
        """Let everything through from now on."""
        self._open = True
        # More than can wait at once.
        self.let(1000)


class SteppedLlama(ScriptedLlama):
    """A scripted model each of whose pieces passes a turnstile."""

    def __init__(self, turnstile: Turnstile, *script: Play) -> None:
        super().__init__(*script)
        self._turnstile = turnstile

    async def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        async with aclosing(super().stream(request)) as pieces:
            async for piece in pieces:
                await self._turnstile()
                yield piece


class SteppedPort(TablePort):
    """A tool port each of whose answers passes a turnstile."""

    def __init__(self, turnstile: Turnstile, *listed: JsonObject) -> None:
        super().__init__(*listed)
        self._turnstile = turnstile

    async def call(self, request: ToolRequest) -> ToolAnswer:
        await self._turnstile()
        return await super().call(request)
