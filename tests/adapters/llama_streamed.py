"""Ask the adapter for a completion, and see what it showed and how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from service.adapters.llama import LlamaHttp, LlamaTimes
from service.core.completion_events import Completion, CompletionDelta, ContentText, ReasoningText
from service.core.completion_request import CompletionRequest
from service.core.errors import ModelFailure
from tests.adapters.scripted_llama import (
    BOUND_S,
    Step,
    llama_at,
    scripted,
)

ASK = CompletionRequest(messages=({"role": "user", "content": "Hi"},), max_tokens=16)


async def all_of(llama: LlamaHttp, request: CompletionRequest = ASK) -> list[Sequence[CompletionDelta] | Completion]:
    async with asyncio.timeout(BOUND_S), aclosing(llama.stream(request)) as stream:
        return [item async for item in stream]


class Shown:
    """What had come when a stream ended, and how it ended."""

    def __init__(self) -> None:
        self.deltas: list[CompletionDelta] = []
        self.completion: Completion | None = None
        self.failure: ModelFailure | None = None

    @property
    def content(self) -> str:
        return "".join(delta.text for delta in self.deltas if isinstance(delta, ContentText))

    @property
    def reasoning(self) -> str:
        return "".join(delta.text for delta in self.deltas if isinstance(delta, ReasoningText))


async def shown(llama: LlamaHttp, request: CompletionRequest = ASK) -> Shown:
    """Take deltas as they come, as turns do; `all_of` has them yielded."""
    found = Shown()

    def take(deltas: Sequence[CompletionDelta]) -> bool:
        found.deltas += deltas
        return True

    try:
        async with asyncio.timeout(BOUND_S), aclosing(llama.stream(request, take)) as stream:
            async for item in stream:
                if isinstance(item, Completion):
                    found.completion = item
                else:
                    found.deltas += item
    except ModelFailure as failure:
        found.failure = failure
    return found


async def failure_of(script: Sequence[Step], times: LlamaTimes | None = None) -> ModelFailure:
    """Play a script that is no completion, and see that the connection is gone afterwards."""
    async with scripted(script) as server, llama_at(server.url, times) as llama:
        found = await shown(llama)
        assert found.completion is None
        assert found.failure is not None
        return found.failure
