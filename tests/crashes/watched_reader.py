"""The fake model server as a reading asks it: gates of a chunk, the answer, token counts of a text.

What it tells is the same for the same request, however often and in whatever order it is asked: also the tokens that
were cached. So the log of a reading that was killed can be equal to that of one that was not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from service.core.baseline import TemplateProfile
from service.core.json_types import JsonObject
from service.core.reading.prompts import NO_MEMORY, gates_grammar
from tests.cases.http_fake import Exchange
from tests.fakes.strict_prompt import check_prompt

_PROFILE = TemplateProfile(hash="strict", tools=True, parallel=True)
_TOKEN = re.compile(r"\w+|[^\w ]")
_WRITTEN = re.compile(r" ?\w+|\W")
_SECTION = re.compile(
    r"Question:\n.*?\n\nMemory:\n(.*)\n\nSection:\n<untrusted ([0-9a-f]+)>\n(.*)\n</untrusted \2>", re.DOTALL
)
_NOTES = re.compile(r"Question:\n.*?\n\nNotes:\n<untrusted ([0-9a-f]+)>\n(.*)\n</untrusted \1>", re.DOTALL)
_GRAMMARS = (gates_grammar(with_draft=False), gates_grammar(with_draft=True))
_PIECES = 4
_SURE, _RATHER, _UNLIKELY = -0.0001, -0.1, -2.5


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedSection:
    """What a request says: the section that is to be read, or the notes, of which `is_answer` wants the answer."""

    memory: str | None
    text: str
    attempt: int
    is_answer: bool = False


Said = str | tuple[str, str]
"""What the model writes, with its finish reason where that is not `stop`."""

Reads = Callable[[AskedSection], Said]


def is_of_reading(body: JsonObject) -> bool:
    """Whether a reading asks, and not a turn."""
    return any(form.search(body["messages"][-1]["content"]) for form in (_SECTION, _NOTES))


def asked_section(body: JsonObject) -> AskedSection:
    """Take a request apart.

    Raises:
        ValueError: it lacks what each such request should have.
    """
    check_prompt(body["messages"], _PROFILE)
    told, attempt = body["messages"][-1]["content"], body["seed"]
    section = _SECTION.search(told)
    if section is None:
        notes = _NOTES.search(told)
        if notes is None or "grammar" in body:
            raise ValueError("it asks for no answer as a reading does")
        return AskedSection(memory=None, text=notes[2], attempt=attempt, is_answer=True)
    if body.get("grammar") not in _GRAMMARS or not body.get("logprobs") or (body["temperature"] > 0) != (attempt > 0):
        raise ValueError("it asks for no gates as a reading does")
    memory = None if section[1] == NO_MEMORY else section[1]
    return AskedSection(memory=memory, text=section[3], attempt=attempt)


def words_in(text: str) -> int:
    """Count tokens: each word is one, and so is each mark of punctuation and each line end."""
    return sum(1 for _ in _TOKEN.finditer(text))


def prompt_words(body: JsonObject) -> int:
    """Count the tokens of a prompt."""
    return sum(words_in(message["content"]) + 5 for message in body["messages"])


async def stream_said(exchange: Exchange, body: JsonObject, said: Said) -> None:
    """Write an answer as llama-server does, with the probabilities of its tokens where they were asked for."""
    content, finish = (said, "stop") if isinstance(said, str) else said
    await exchange.begin_stream()
    for event in _events(body, content, finish):
        await exchange.chunk(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n")
    await exchange.chunk(b"data: [DONE]\n\n")
    await exchange.chunk(b"")


def _events(body: JsonObject, content: str, finish: str) -> Iterator[JsonObject]:
    size, tokens = prompt_words(body), _WRITTEN.findall(content)
    # All before the section was there when the same memory was read with the section before (R7).
    cached = size - words_in(body["messages"][-1]["content"].partition("\n\nSection:\n")[2])
    identity: JsonObject = {"id": "chatcmpl-1", "created": 1, "model": "fake", "object": "chat.completion.chunk"}
    progress = {"total": size, "cache": cached, "processed": size, "time_ms": 1}
    yield {**_choice({"role": "assistant", "content": None}), **identity, "prompt_progress": progress}
    for piece in _in_pieces(tokens):
        told = {"content": [_probability(token) for token in piece]} if body.get("logprobs") else None
        yield {**_choice({"content": "".join(piece)}, logprobs=told), **identity}
    yield {**_choice({}, finish), **identity}
    usage: JsonObject = {"prompt_tokens": size, "completion_tokens": len(tokens), "total_tokens": size + len(tokens)}
    usage["prompt_tokens_details"] = {"cached_tokens": cached}
    timings = {"cache_n": cached, "prompt_n": size - cached, "predicted_n": len(tokens)}
    yield {"choices": [], **identity, "usage": usage, "timings": timings}


def _in_pieces(tokens: Sequence[str]) -> Iterator[Sequence[str]]:
    length = -(-len(tokens) // _PIECES)
    return (tokens[at : at + length] for at in range(0, len(tokens), length))


def _choice(delta: JsonObject, reason: str | None = None, logprobs: JsonObject | None = None) -> JsonObject:
    choice: JsonObject = {"finish_reason": reason, "index": 0, "delta": delta}
    return {"choices": [choice if logprobs is None else {**choice, "logprobs": logprobs}]}


def _probability(token: str) -> JsonObject:
    other = {" true": " false", " false": " true"}.get(token)
    if other is None:
        return {**_entry(token, _SURE), "top_logprobs": [_entry(token, _SURE)]}
    return {**_entry(token, _RATHER), "top_logprobs": [_entry(token, _RATHER), _entry(other, _UNLIKELY)]}


def _entry(token: str, logprob: float) -> JsonObject:
    return {"token": token, "bytes": list(token.encode()), "logprob": logprob}
