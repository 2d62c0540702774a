"""A model server that counts what it is sent, refuses what doesn't fit, and writes summaries."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

from service.core.completion_events import Completion, CompletionDelta
from service.core.completion_request import CompletionRequest
from service.core.errors import ContextFull
from service.core.json_types import JsonObject
from service.core.summarising import INSTRUCTIONS
from service.ports import Take
from tests.fakes.llama import Play, ScriptedLlama, say

BYTES_PER_TOKEN = 4


def size_of(messages: Sequence[JsonObject]) -> int:
    """Count tokens: four bytes of JSON are one."""
    return sum(len(json.dumps(message, ensure_ascii=False).encode()) // BYTES_PER_TOKEN for message in messages)


def is_for_summary(request: CompletionRequest) -> bool:
    """Say whether a request asks for a summary."""
    return request.messages[-1]["content"].startswith(INSTRUCTIONS[:60])


class CountedLlama(ScriptedLlama):
    """Plays its script for steps and `summaries` for summaries; the last summary again and again."""

    def __init__(self, *script: Play, summaries: Sequence[Play] = (), **other: object) -> None:
        super().__init__(*script, **other)  # pyright: ignore[reportArgumentType]
        self.summaries = list(summaries) or [say("They talked.")]
        self.asked_to_summarise: list[CompletionRequest] = []
        self.steps: list[CompletionRequest] = []
        self._cache: list[tuple[tuple[JsonObject, ...], int]] = []

    async def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        (self.asked_to_summarise if is_for_summary(request) else self.steps).append(request)
        prompt_tokens = size_of(request.messages)
        if prompt_tokens >= self.server.context_tokens:
            raise ContextFull("too long", prompt_tokens=prompt_tokens, context_tokens=self.server.context_tokens)
        async for item in super().stream(request):
            if isinstance(item, Completion):
                yield self._counted(item, request, prompt_tokens)
            else:
                yield item

    def _counted(self, item: Completion, request: CompletionRequest, prompt_tokens: int) -> Completion:
        said = item.usage.completion_tokens if item.reasoning else len(item.content.encode()) // BYTES_PER_TOKEN
        cached = max((n for earlier, n in self._cache if request.messages[: len(earlier)] == earlier), default=0)
        self._cache.append((request.messages, prompt_tokens + said))
        usage = replace(item.usage, prompt_tokens=prompt_tokens, completion_tokens=said, cached_tokens=cached)
        return replace(item, usage=usage)

    def _next(self) -> Play:
        if is_for_summary(self.requests[-1]):
            return self.summaries[0] if len(self.summaries) == 1 else self.summaries.pop(0)
        return super()._next()

    async def count_tokens(self, request: CompletionRequest) -> int:
        self.counts += 1
        if self.away is not None:
            raise self.away
        return size_of(request.messages)
