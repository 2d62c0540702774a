"""A model server that plays a script, and is as strict about prompts as the strictest template."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from service.core.baseline import TemplateProfile
from service.core.completion_events import (
    Begun,
    Completion,
    CompletionDelta,
    CompletionUsage,
    ContentText,
    ModelCall,
    PromptProgress,
    ReasoningText,
    TokenProbability,
)
from service.core.completion_request import CompletionRequest
from service.core.errors import ErrorKind, ModelFailure, UpstreamHttp
from service.core.json_types import JsonObject
from service.core.slot_state import SlotState
from service.ports import ServerFacts, Take
from tests.fakes.strict_prompt import MalformedPrompt, check_prompt

PROFILE = TemplateProfile(hash="template-1", tools=True, parallel=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One completion of a script: what streams, and how it ends.

    `before_end` is waited for when everything has streamed; `streaming` is set at that moment. `at_once` is a
    failure before the head.
    """

    content: str = ""
    reasoning: str = ""
    calls: tuple[ModelCall, ...] = ()
    finish_reason: str | None = None
    failure: ModelFailure | None = None
    at_once: ModelFailure | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    estimated: bool = False
    tokens: tuple[TokenProbability, ...] = ()
    streaming: asyncio.Event = field(default_factory=asyncio.Event)
    before_end: asyncio.Event | None = None


def say(text: str, **other: object) -> Play:
    """A completion that is only text."""
    return Play(content=text, **other)  # pyright: ignore[reportArgumentType]


def call(name: str, arguments: str = "{}", *, id: str | None = "call-1") -> ModelCall:
    """A tool call of the model."""
    return ModelCall(id=id, name=name, arguments=arguments)


def ask_for(*calls: ModelCall, content: str = "") -> Play:
    """A completion that asks for tools."""
    return Play(content=content, calls=calls)


class ScriptedLlama:
    """Plays one `Play` per request, in order; the last one again and again when `endless` is set."""

    def __init__(self, *script: Play, context_tokens: int = 4096, slots: int = 2, endless: bool = False) -> None:
        self.script = list(script)
        self.requests: list[CompletionRequest] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.endless = endless
        self.away: ModelFailure | None = None
        self.server = ServerFacts(context_tokens=context_tokens, slots=slots, model="fake", template=PROFILE)
        self.counted_tokens = 10
        self.ended_thoughts: list[str] = []
        self.counts = 0
        self.counted: list[CompletionRequest] = []
        self.counted_texts: list[str] = []
        self.tasks = 0
        self.rewrites = False
        self.refused_tools: set[str] = set()
        self._left_in_cache: list[tuple[tuple[JsonObject, ...], int]] = []

    async def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        self.requests.append(request)
        self.tasks += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            try:
                check_prompt(request.messages, self.server.template)
            except MalformedPrompt as fault:
                raise UpstreamHttp(400, str(fault)) from fault
            play = self._next()
            async for item in self._played(play, request):
                yield item
        finally:
            self.in_flight -= 1

    def _next(self) -> Play:
        if not self.script:
            raise AssertionError("the script has no further completion")
        return self.script[0] if self.endless and len(self.script) == 1 else self.script.pop(0)

    async def _played(
        self, play: Play, request: CompletionRequest
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        words = sum(len(message["content"].split()) + 4 for message in request.messages)
        prompt_tokens = words if play.prompt_tokens is None else play.prompt_tokens
        if play.at_once is not None:
            raise play.at_once
        begun = Begun(completion_id=f"chatcmpl-{len(self.requests)}")
        yield [begun, PromptProgress(processed=prompt_tokens, cached=0, total=prompt_tokens, time_ms=1)]
        await asyncio.sleep(0)
        for piece in _pieces(play.reasoning):
            yield [ReasoningText(text=piece)]
        for piece in _pieces(play.content):
            yield [ContentText(text=piece)]
        play.streaming.set()
        if play.before_end is not None:
            await play.before_end.wait()
        if play.failure is not None:
            raise play.failure
        yield self._whole(play, request, prompt_tokens)

    def _whole(self, play: Play, request: CompletionRequest, prompt_tokens: int) -> Completion:
        cached = self._cached(request.messages) if play.cached_tokens is None else play.cached_tokens
        tokens = len(play.content.split()) + len(play.reasoning.split()) + 8 * len(play.calls)
        tokens = tokens if play.completion_tokens is None else play.completion_tokens
        self._left_in_cache.append((request.messages, prompt_tokens + tokens))
        return Completion(
            content=play.content,
            reasoning=play.reasoning,
            calls=play.calls,
            finish_reason=play.finish_reason or ("tool_calls" if play.calls else "stop"),
            usage=CompletionUsage(
                prompt_tokens=prompt_tokens,
                cached_tokens=cached,
                completion_tokens=tokens,
                reasoning_tokens=len(play.reasoning.split()),
            ),
            estimated=play.estimated,
            tokens=play.tokens if request.logprobs else (),
        )

    def _cached(self, messages: tuple[JsonObject, ...]) -> int:
        """What is left of earlier completions whose prompt begins this one: nothing is ever lost."""
        return max((n for earlier, n in self._left_in_cache if messages[: len(earlier)] == earlier), default=0)

    async def end_thought(self, completion_id: str) -> bool:
        self.ended_thoughts.append(completion_id)
        return True

    async def facts(self) -> ServerFacts:
        if self.away is not None:
            raise self.away
        return self.server

    async def slots(self) -> Sequence[SlotState]:
        if self.away is not None:
            raise self.away
        newest = self.tasks - 1 if self.tasks else None
        return [
            SlotState(id=number, processing=number < self.in_flight, task=newest if number == 0 else None)
            for number in range(self.server.slots)
        ]

    async def count_tokens(self, request: CompletionRequest) -> int:
        self.counts += 1
        self.counted.append(request)
        if self.away is not None:
            raise self.away
        for tool in request.tools:
            if tool["function"]["name"] in self.refused_tools:
                raise UpstreamHttp(400, "Unable to generate parser for this template.")
        return self.counted_tokens + sum(len(json.dumps(tool)) for tool in request.tools) // 4

    async def count_text(self, text: str) -> int:
        """Each word is a token, and so is each mark of punctuation and each line end."""
        self.counted_texts.append(text)
        if self.away is not None:
            raise self.away
        return len(_TOKEN.findall(text))

    async def render(self, request: CompletionRequest) -> str:
        """One line a message; a template that rewrites puts the number of messages in front."""
        lines = [f"{message['role']}: {message['content']}\n" for message in request.messages]
        return (f"{len(lines)} messages\n" if self.rewrites else "") + "".join(lines)

    async def check(self) -> None:
        if self.away is not None:
            raise self.away


GONE = ModelFailure(ErrorKind.CONNECT, "llama-server is away")


_TOKEN = re.compile(r"\w+|[^\w ]")


def _pieces(text: str) -> list[str]:
    words = text.split(" ")
    return [word if place == 0 else f" {word}" for place, word in enumerate(words)] if text else []
