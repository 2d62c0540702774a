"""A stream of one completion, read to what it shows and how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from service.core.completion_events import Completion, CompletionDelta, ContentText, PromptProgress, ReasoningText
from service.core.completion_stream import CompletionStream
from service.core.errors import ContextFull, ErrorKind, ModelFailure
from tests.core.stream_cuts import same_for_all_cuts


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    kind: ErrorKind
    message: str
    status: int | None = None
    tokens: tuple[int | None, int | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the deltas come to, joined, and the end."""

    reasoning: str
    content: str
    progress: tuple[PromptProgress, ...]
    end: Completion | Failed

    @property
    def completion(self) -> Completion:
        assert isinstance(self.end, Completion), self.end
        return self.end

    @property
    def failure(self) -> Failed:
        assert isinstance(self.end, Failed), self.end
        return self.end


def read_stream(pieces: Iterable[bytes], *, budget: int | None = None, prompt_estimate: int = 0) -> Outcome:
    stream = CompletionStream(thinking_budget_tokens=budget, prompt_estimate=prompt_estimate)
    deltas: list[CompletionDelta] = []
    for piece in pieces:
        deltas += stream.feed(piece)
    deltas += stream.release()
    return Outcome(
        reasoning="".join(d.text for d in deltas if isinstance(d, ReasoningText)),
        content="".join(d.text for d in deltas if isinstance(d, ContentText)),
        progress=tuple(d for d in deltas if isinstance(d, PromptProgress)),
        end=end_of(stream),
    )


def end_of(stream: CompletionStream) -> Completion | Failed:
    try:
        return stream.finish()
    except ContextFull as failure:
        tokens = (failure.prompt_tokens, failure.context_tokens)
        return Failed(kind=failure.kind, message=failure.message, status=failure.status, tokens=tokens)
    except ModelFailure as failure:
        return Failed(kind=failure.kind, message=failure.message, status=failure.status)


def event(payload: Any) -> bytes:
    """One event as llama-server writes it."""
    text = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return b"data: " + text.encode("utf-8", "surrogatepass") + b"\n\n"


def chunk(delta: Any = None, finish_reason: Any = None, **members: Any) -> bytes:
    """A chunk with one choice."""
    choice: dict[str, Any] = {"finish_reason": finish_reason, "index": 0, "delta": {} if delta is None else delta}
    return event({"choices": [choice], "object": "chat.completion.chunk", **members})


def content(*texts: str) -> bytes:
    return b"".join(chunk({"content": text}) for text in texts)


def reasoning(*texts: str) -> bytes:
    return b"".join(chunk({"reasoning_content": text}) for text in texts)


def calls(*pieces: Mapping[str, Any]) -> bytes:
    """One delta for each piece of a tool call."""
    return b"".join(chunk({"tool_calls": [piece]}) for piece in pieces)


STOP = chunk(finish_reason="stop")
USAGE = event({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
DONE = event("[DONE]")
END = STOP + USAGE + DONE


_TRAILING = b'data: {"error":{"message":"too late"}}\n\n' + chunk({"content": "too late"})


def read_all_ways(stream: bytes, *, budget: int | None = None, prompt_estimate: int = 0) -> Outcome:
    """Read in every way; once the stream is over nothing behind it changes anything."""

    def outcome(pieces: list[bytes]) -> Outcome:
        return read_stream(pieces, budget=budget, prompt_estimate=prompt_estimate)

    found = same_for_all_cuts(outcome, stream)
    if isinstance(found.end, Completion):
        assert found.content == found.end.content
        assert found.reasoning == found.end.reasoning
    if stream.endswith(DONE):
        assert outcome([stream + _TRAILING]) == found
        assert outcome([stream, _TRAILING]) == found
    return found
