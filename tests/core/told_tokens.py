"""Tokens with probabilities made by hand, and chunks that tell them as llama-server does."""

from __future__ import annotations

import math
from typing import Any

from service.core.completion_events import Completion, TokenProbability
from service.core.completion_stream import CompletionStream
from tests.core.completion_outcome import END, event


def token(text: str, probability: float | None = 1.0, others: dict[str, float] | None = None) -> TokenProbability:
    """A token that stands among its alternatives, as the likeliest do, with the others."""
    written = text.encode()
    if probability is None:
        return TokenProbability(text=written, logprob=None)
    listed = {written: probability} | {other.encode(): p for other, p in (others or {}).items()}
    alternatives = tuple((other, math.log(p)) for other, p in listed.items())
    return TokenProbability(text=written, logprob=math.log(probability), alternatives=alternatives)


def told(text: str | bytes, logprob: Any = -0.5, **members: Any) -> dict[str, Any]:
    """An entry of `logprobs.content`."""
    written = text.encode() if isinstance(text, str) else text
    shown = written.decode(errors="replace")
    return {"id": 7, "token": shown, "bytes": list(written), "logprob": logprob, "top_logprobs": [], **members}


def telling(content: str | None, *entries: Any, **delta: Any) -> bytes:
    """A chunk with a piece of the answer, and what is told of its tokens."""
    return telling_so(content, {"content": list(entries)}, **delta)


def telling_so(content: str | None, logprobs: Any, **delta: Any) -> bytes:
    """A chunk with a piece of the answer, and anything for its `logprobs`."""
    choice = {"index": 0, "finish_reason": None, "delta": {"content": content, **delta}, "logprobs": logprobs}
    return event({"choices": [choice], "object": "chat.completion.chunk"})


def completed(*stream: bytes, logprobs: bool = True) -> Completion:
    """Read a stream to its completion; it must be whole."""
    reading = CompletionStream(logprobs=logprobs)
    reading.feed(b"".join(stream) if stream[-1].endswith(END) else b"".join([*stream, END]))
    reading.release()
    return reading.finish()
