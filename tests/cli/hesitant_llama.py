"""A model server that stops in the middle of its answer, so that a connection can be cut there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from service.core.completion_events import Completion, CompletionDelta, ContentText
from service.core.completion_request import CompletionRequest
from service.ports import Take
from tests.fakes.llama import Play, ScriptedLlama, call

LOOKS = "Let me look. "
FIRST, REST = "Air scatters ", "blue light — 空気 🌤 — more than red."
ANSWER = FIRST + REST


class HesitantLlama(ScriptedLlama):
    """Asks for a call, and then stops in the middle of its answer until it is let go."""

    def __init__(self) -> None:
        super().__init__(Play(content=LOOKS, calls=(call("look"),)), Play(content=ANSWER))
        self.goes_on = asyncio.Event()

    async def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        async for item in super().stream(request, take):
            if isinstance(item, Completion) and item.content == ANSWER:
                yield [ContentText(text=FIRST)]
                await self.goes_on.wait()
                yield [ContentText(text=REST)]
                yield item
            elif len(self.requests) == 1 or not _says_something(item):
                yield item


def _says_something(item: Sequence[CompletionDelta] | Completion) -> bool:
    return isinstance(item, Completion) or any(isinstance(delta, ContentText) for delta in item)
