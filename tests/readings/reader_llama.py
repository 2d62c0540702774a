"""A llama-server that reads as a test says: what it is asked is taken apart, and a function gives its words."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace
from math import log

from service.core.baseline import TemplateProfile
from service.core.completion_events import (
    Begun,
    Completion,
    CompletionDelta,
    CompletionUsage,
    ContentText,
    TokenProbability,
)
from service.core.completion_request import CompletionRequest
from service.core.errors import ErrorKind, ModelFailure
from service.core.reading.prompts import NO_MEMORY
from service.core.slot_state import SlotState
from service.ports import ServerFacts, Take

_TOKEN = re.compile(r"\w+|[^\w ]")
_SECTION = re.compile(
    r"Question:\n(.*?)\n\nMemory:\n(.*)\n\nSection:\n<untrusted ([0-9a-f]+)>\n(.*)\n</untrusted \3>", re.DOTALL
)
_NOTES = re.compile(r"Question:\n(.*?)\n\nNotes:\n<untrusted ([0-9a-f]+)>\n(.*)\n</untrusted \2>", re.DOTALL)

RETAIN = '{"update": false, "exit": false}'


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedChunk:
    """What a request about a chunk says; `attempt` counts from 0."""

    query: str
    memory: str | None
    section: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAnswer:
    """What a request for the answer says."""

    query: str
    notes: str


Says = str | tuple[str, str] | ModelFailure
"""What the model writes, with its finish reason where it is not `stop`, or how the attempt fails."""


@dataclass
class ReaderLlama:
    """`reads` is asked for each chunk, `answers` for each answer."""

    reads: Callable[[AskedChunk], Says]
    answers: Callable[[AskedAnswer], Says] = lambda asked: f"Answer: {asked.notes}"
    context_tokens: int = 4096
    slots_number: int = 2
    model: str = "reader"
    template_hash: str = "template-1"
    requests: list[CompletionRequest] = field(default_factory=list[CompletionRequest])
    chunks: list[AskedChunk] = field(default_factory=list[AskedChunk])
    answered: list[AskedAnswer] = field(default_factory=list[AskedAnswer])
    counted: list[str] = field(default_factory=list[str])
    away: ModelFailure | None = None
    running: int = 0
    most_running: int = 0
    sure: Callable[[AskedChunk], float] | None = None
    before_each: Callable[[], asyncio.Event | None] = lambda: None

    @property
    def calls(self) -> int:
        return len(self.requests)

    async def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        self.requests.append(request)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            if (gate := self.before_each()) is not None:
                await gate.wait()
            if self.away is not None:
                raise self.away
            yield (Begun(completion_id=f"c{self.calls}"),)
            said = self._said(request)
            if isinstance(said, ModelFailure):
                raise said
            content, finish = said if isinstance(said, tuple) else (said, "stop")
            for piece in (content[: len(content) // 2], content[len(content) // 2 :]):
                await asyncio.sleep(0)
                if piece:
                    yield (ContentText(text=piece),)
            yield replace(_completion(request, content, finish), tokens=self._tokens_of(request, content))
        finally:
            self.running -= 1

    def _said(self, request: CompletionRequest) -> Says:
        told = str(request.messages[-1]["content"])
        if (section := _SECTION.search(told)) is not None:
            query, memory, _, text = section.groups()
            asked = AskedChunk(
                query=query,
                memory=None if memory == NO_MEMORY else memory,
                section=text,
                attempt=int(str(request.sampling["seed"])),
            )
            self.chunks.append(asked)
            return self.reads(asked)
        notes = _NOTES.search(told)
        assert notes is not None, told
        asked_answer = AskedAnswer(query=notes[1], notes=notes[3])
        self.answered.append(asked_answer)
        return self.answers(asked_answer)

    def _tokens_of(self, request: CompletionRequest, content: str) -> tuple[TokenProbability, ...]:
        """Tell the probability of each token, where it was asked for and a test says how sure the model is."""
        if not request.logprobs or self.sure is None or not content:
            return ()
        logprob = log(self.sure(self.chunks[-1]))
        pieces = re.findall(r"\w+|\W", content)
        return tuple(TokenProbability(text=piece.encode(), logprob=logprob) for piece in pieces)

    async def end_thought(self, completion_id: str) -> bool:
        raise AssertionError("readings don't think")

    async def facts(self) -> ServerFacts:
        if self.away is not None:
            raise self.away
        return ServerFacts(
            context_tokens=self.context_tokens,
            slots=self.slots_number,
            model=self.model,
            template=TemplateProfile(hash=self.template_hash, tools=False, parallel=False),
        )

    async def slots(self) -> Sequence[SlotState]:
        return ()

    async def count_tokens(self, request: CompletionRequest) -> int:
        if self.away is not None:
            raise self.away
        return sum(_tokens(str(message["content"])) + 5 for message in request.messages)

    async def count_text(self, text: str) -> int:
        """Each word is a token, and so is each mark of punctuation and each line end."""
        if self.away is not None:
            raise self.away
        self.counted.append(text)
        return _tokens(text)

    async def render(self, request: CompletionRequest) -> str:
        raise AssertionError("readings don't look at the rendered prompt")

    async def check(self) -> None:
        if self.away is not None:
            raise self.away


GONE = ModelFailure(ErrorKind.CONNECT, "llama-server is away")


def _tokens(text: str) -> int:
    return len(_TOKEN.findall(text))


def _completion(request: CompletionRequest, content: str, finish: str) -> Completion:
    prompt = sum(_tokens(str(message["content"])) for message in request.messages)
    return Completion(
        content=content,
        reasoning="",
        calls=(),
        finish_reason=finish,
        usage=CompletionUsage(
            prompt_tokens=prompt, cached_tokens=0, completion_tokens=_tokens(content), reasoning_tokens=0
        ),
    )
