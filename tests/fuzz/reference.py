"""A second, slow reading of a stream, made from the rules alone: it shares no code with `service.core`.

It reads the whole stream at once, and the tags in the whole text at once, where the service reads piece by piece.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

JsonObject = dict[str, Any]

_LINE_END = re.compile("\r\n|\r|\n")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_TAG = re.compile(r"\s*(</?think>)")
_CLOSING = "</think>"
_HELD = 400
_MOST_TOKENS = 2**53


class Unreadable(Exception):
    """The server reports an error, or what stands here is no chunk of a completion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPiece:
    index: int | None
    id: str
    name: str
    arguments: str

    @property
    def is_empty(self) -> bool:
        return not (self.id or self.name or self.arguments)


@dataclass(slots=True, kw_only=True)
class Reading:
    """What the stream says, as far as it counts."""

    contents: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """Pieces of content, each with the number of reasoning pieces before it."""
    reasonings: list[str] = field(default_factory=list[str])
    calls: list[CallPiece] = field(default_factory=list[CallPiece])
    finish_reason: str | None = None
    failed: bool = False
    """It ended in an error, or in something that can't be read, before its finish reason."""
    shows_all: bool = True
    """False where a chunk failed that had text in it: nobody says whether that is shown."""
    usage: dict[str, int] = field(default_factory=dict[str, int])
    """The counts told last, by their names on the wire."""
    progress: tuple[int, int] | None = None
    """Total and cached tokens of the prompt, told along its processing."""

    @property
    def is_complete(self) -> bool:
        return self.finish_reason is not None

    @property
    def content(self) -> str:
        return "".join(text for text, _ in self.contents)


def read(stream: bytes) -> Reading:
    reading = Reading()
    for name, data in _events(stream):
        if data == "[DONE]" and name != "error line":
            break
        texts = len(reading.contents) + len(reading.reasonings)
        try:
            if name in ("error", "error line"):
                raise Unreadable
            if data.strip():
                _chunk(data, reading)
        except Unreadable:
            reading.failed = not reading.is_complete
            reading.shows_all = texts == len(reading.contents) + len(reading.reasonings)
            break
    return reading


def _events(stream: bytes) -> Iterator[tuple[str, str]]:
    """Give each event's name and data; a line `error: …` of builds until 2025 is an event as well."""
    lines = _LINE_END.split(stream.decode("utf-8", "replace").removeprefix("\ufeff"))
    lines.pop()
    name, data = "", list[str]()
    for line in lines:
        key, _, value = line.partition(":")
        value = value[1:] if value[:1] == " " else value
        if not line:
            if data:
                yield name, "\n".join(data)
            name, data = "", []
        elif key == "data":
            data.append(value)
        elif key == "event":
            name = value
        elif key == "error":
            yield "error line", value


def _chunk(data: str, reading: Reading) -> None:
    try:
        chunk = _object(json.loads(data))
    except (ValueError, RecursionError):
        raise Unreadable from None
    if chunk.get("error") is not None:
        raise Unreadable
    if "\\u" in data:
        chunk = _object(_writable(chunk))
    if chunk.get("choices") and not reading.is_complete:
        for choice in map(_object, _list(chunk["choices"])):
            if not choice.get("index"):
                _choice(choice, reading)
            if reading.is_complete:
                break
    _counts(chunk, reading)


def _choice(choice: JsonObject, reading: Reading) -> None:
    delta = {} if choice.get("delta") is None else _object(choice["delta"])
    if thought := delta.get("reasoning_content") or delta.get("reasoning"):
        reading.reasonings.append(_text(thought))
    if said := delta.get("content"):
        reading.contents.append((_text(said), len(reading.reasonings)))
    if pieces := delta.get("tool_calls"):
        reading.calls += [_piece(_object(piece)) for piece in _list(pieces)]
    if reason := choice.get("finish_reason"):
        reading.finish_reason = _text(reason)[:64]


def _piece(piece: JsonObject) -> CallPiece:
    function = _object(piece.get("function") or {})
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return CallPiece(
        index=piece["index"] if type(piece.get("index")) is int else None,
        id=piece["id"] if isinstance(piece.get("id"), str) else "",
        name=_text(function.get("name") or ""),
        arguments="" if arguments is None else _text(arguments),
    )


def _counts(chunk: JsonObject, reading: Reading) -> None:
    progress = _members(chunk, "prompt_progress")
    if _is_count(progress.get("processed")) and _is_count(progress.get("total")):
        cached = progress["cache"] if _is_count(progress.get("cache")) else 0
        reading.progress = progress["total"], min(cached, progress["processed"])
    usage = _members(chunk, "usage")
    told: JsonObject = {
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": usage.get("completion_tokens"),
        "cached_tokens": _members(usage, "prompt_tokens_details").get("cached_tokens"),
        "reasoning_tokens": _members(usage, "completion_tokens_details").get("reasoning_tokens"),
    }
    if reading.is_complete:
        timings = _members(chunk, "timings")
        told.update({name: timings.get(name) for name in ("prompt_n", "predicted_n", "cache_n")})
    reading.usage |= {name: int(count) for name, count in told.items() if _is_count(count)}


def _members(value: JsonObject, name: str) -> JsonObject:
    return cast(JsonObject, value[name]) if isinstance(value.get(name), dict) else {}


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST_TOKENS


def _object(value: Any) -> JsonObject:
    if not isinstance(value, dict):
        raise Unreadable
    return cast(JsonObject, value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Unreadable
    return cast(list[Any], value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Unreadable
    return value


def _writable(value: Any) -> Any:
    """Replace what UTF-8 can't hold in all texts and names of a JSON value."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_writable(item) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return {_writable(key): _writable(item) for key, item in cast(JsonObject, value).items()}
    return value


def sort_by_tags(text: str, *, held: bool) -> tuple[str, str]:
    """Give what of a whole content is thought, and what is the answer (L5)."""
    thought, answer_begins = "", False
    while not answer_begins:
        tag = _TAG.match(text)
        if tag is None:
            at = text.find(_CLOSING)
            if not (held and 0 <= at <= _HELD):
                break
            thought, text, held = thought + text[:at], text[at:], False
        elif tag[1] == _CLOSING:
            text = text[tag.end() :].lstrip()
        else:
            inside, closing, text = text[tag.end() :].partition(_CLOSING)
            thought += inside
            if not closing:
                return thought, ""
            text = text.lstrip()
    return thought, text


def pieces_before_the_answer(reading: Reading) -> int:
    """Count the reasoning pieces that had come when the content showed that it begins no tag."""
    so_far = ""
    for text, reasonings in reading.contents:
        so_far += text
        rest = so_far.lstrip()
        if not ("<think>".startswith(rest) or _CLOSING.startswith(rest)):
            return reasonings
    return 0
