"""Ways to break a stream: by bytes, lines, JSON tokens, JSON values and events."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any, cast

Events = list[bytes]
JsonObject = dict[str, Any]

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+|\s+')
_LINES = (
    b"", b":", b": ping", b"data:", b"data", b"data: [DONE]", b"data: {}", b"data: null", b"event: error", b"event: x",
    b'error: {"code":500,"message":"no"}', b'data: {"error":{"message":"no"}}', b"id: 1", b"retry: 5", b"\xef\xbb\xbf",
    b'data: {"choices":[{"delta":{"content":"x"}}]}', b'data: {"choices":[{"finish_reason":"stop"}]}',
)  # fmt: skip
_BYTES = (
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\x00",
    b"\xff",
    b"\xc3",
    b"\xe2\x80\xa8",
    b"\xed\xa0\xbd",
    b'"',
    b"\\",
    b"{",
)
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**53, 2**53 + 1, 10**30, 0.5, float("nan"), float("inf"), "", " ", "x", "\ud83d",
    "\u2028", "<think>", "</think>", "<", "</thin", "\n", "{}", "{", "}", '{"x":1}', "stop", "length", "tool_calls",
    [], {}, [[]], [{}], {"x": 1}, {"error": {"message": "no"}}, {"name": "f", "arguments": "{}"},
)  # fmt: skip
_KEYS = (
    "choices", "delta", "index", "finish_reason", "content", "reasoning", "reasoning_content", "tool_calls",
    "function", "name", "arguments", "id", "usage", "timings", "prompt_progress", "prompt_tokens",
    "completion_tokens", "prompt_tokens_details", "cached_tokens", "completion_tokens_details", "reasoning_tokens",
    "total", "processed", "cache", "prompt_n", "predicted_n", "cache_n", "error", "message", "type", "code",
)  # fmt: skip
_SPLIT = ("content", "reasoning_content", "arguments", "name")
_DEPTH = 50


def broken(rng: Random, seeds: list[Events]) -> bytes:
    """Give a stream made from one or two of the seeds, or, seldom, from nothing."""
    if rng.random() < 0.02:
        return _noise(rng)
    events = list(rng.choice(seeds))
    for _ in range(rng.randint(1, 4)):
        rng.choice(_OF_EVENTS)(rng, events, seeds)
    stream = b"".join(events)
    for _ in range(rng.choice((0, 0, 0, 0, 1, 2))):
        stream = rng.choice(_OF_BYTES)(rng, stream)
    return stream


def cut(rng: Random, stream: bytes) -> list[bytes]:
    """Cut a stream at a few random places; seldom at each."""
    if rng.random() < 0.01:
        return [stream[place : place + 1] for place in range(len(stream))]
    places = sorted(rng.randrange(len(stream) + 1) for _ in range(rng.choice((0, 1, 1, 2, 3, 8))))
    return [stream[a:b] for a, b in zip([0, *places], [*places, len(stream)], strict=True)]


def _noise(rng: Random) -> bytes:
    if rng.random() < 0.5:
        return rng.randbytes(rng.randrange(200))
    return b"".join(rng.choice((*_LINES, *_BYTES)) + rng.choice(_BYTES) for _ in range(rng.randrange(30)))


def _span(rng: Random, length: int, longest: int) -> tuple[int, int]:
    start = rng.randrange(length + 1)
    return start, min(length, start + rng.randrange(longest + 1))


# Of whole events.


def _drop(rng: Random, events: Events, _: list[Events]) -> None:
    start, end = _span(rng, len(events), 3)
    del events[start:end]


def _double(rng: Random, events: Events, _: list[Events]) -> None:
    start, end = _span(rng, len(events), 3)
    events[start:start] = events[start:end]


def _move(rng: Random, events: Events, _: list[Events]) -> None:
    if events:
        event = events.pop(rng.randrange(len(events)))
        events.insert(rng.randrange(len(events) + 1), event)


def _splice(rng: Random, events: Events, seeds: list[Events]) -> None:
    other = rng.choice(seeds)
    events[rng.randrange(len(events) + 1) :] = other[rng.randrange(len(other)) :]


def _insert_of_another(rng: Random, events: Events, seeds: list[Events]) -> None:
    events.insert(rng.randrange(len(events) + 1), rng.choice(rng.choice(seeds)))


def _add_line(rng: Random, events: Events, _: list[Events]) -> None:
    place = rng.randrange(len(events) + 1)
    events.insert(place, rng.choice(_LINES) + rng.choice((b"\n", b"\n\n", b"\r\n", b"\r\r")))


def _merge(rng: Random, events: Events, _: list[Events]) -> None:
    """Put the choices of an event into the one before it."""
    if len(events) < 2:
        return
    place = rng.randrange(1, len(events))
    payload, choices, more = _payload(events[place - 1]), _choices(events[place - 1]), _choices(events[place])
    if choices and more:
        payload["choices"] = choices + more
        events[place - 1 : place + 1] = [_event(rng, payload)]


def _choices(event: bytes) -> list[Any]:
    payload = _payload(event)
    choices: Any = cast(JsonObject, payload).get("choices") if isinstance(payload, dict) else None
    return cast(list[Any], choices) if isinstance(choices, list) else []


def _change_value(rng: Random, events: Events, _: list[Events]) -> None:
    """Change one value somewhere in an event's JSON, or a few."""
    if not events:
        return
    place = rng.randrange(len(events))
    payload = _payload(events[place])
    if payload is not None:
        for _time in range(rng.choice((1, 1, 1, 2))):
            _change_one(rng, payload)
        events[place] = _event(rng, payload)


def _change_one(rng: Random, payload: Any) -> None:
    holders = [holder for holder in _holders(payload) if holder]
    if not holders:
        return
    holder = rng.choice(holders)
    key = rng.choice(list(_inside(holder)))
    change = rng.randrange(7)
    if change == 0:
        del holder[key]
    elif change in (1, 2) and isinstance(key, int):
        holder.insert(key, holder[key])
    elif change == 1:
        holder[rng.choice(_KEYS)] = holder.pop(key)
    elif change == 2:
        holder[rng.choice(_KEYS)] = deepcopy(rng.choice(_VALUES))
    elif change == 3:
        holder[key] = [holder[key]]
    elif change == 4:
        holder[key] = deepcopy(rng.choice(list(_inside(rng.choice(holders)).values())))
    elif change == 5 and isinstance(holder[key], str):
        holder[key] += rng.choice([value for value in _VALUES if isinstance(value, str)])
    else:
        holder[key] = deepcopy(rng.choice(_VALUES))


def _split_text(rng: Random, events: Events, _: list[Events]) -> None:
    """Make two events of one, each with a part of its text."""
    if not events:
        return
    place = rng.randrange(len(events))
    first, second = _payload(events[place]), _payload(events[place])
    texts = [
        (one, other, key)
        for one, other in zip(_holders(first), _holders(second), strict=True)
        for key, text in _inside(one).items()
        if key in _SPLIT and isinstance(text, str)
    ]
    if texts:
        one, other, key = rng.choice(texts)
        at = rng.randrange(len(one[key]) + 1)
        one[key], other[key] = one[key][:at], other[key][at:]
        events[place : place + 1] = [_event(rng, first), _event(rng, second)]


def _break_tokens(rng: Random, events: Events, _: list[Events]) -> None:
    """Drop, double or exchange tokens of an event's JSON, which may then be none."""
    if not events:
        return
    place = rng.randrange(len(events))
    tokens = _TOKEN.findall(events[place])
    if tokens:
        n, m = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        change = rng.randrange(4)
        if change == 0:
            del tokens[n]
        elif change == 1:
            tokens.insert(n, tokens[m])
        elif change == 2:
            tokens[n], tokens[m] = tokens[m], tokens[n]
        else:
            tokens[n] = b"[" * _DEPTH + b"]" * _DEPTH
        events[place] = b"".join(tokens)


def _break_line(rng: Random, events: Events, _: list[Events]) -> None:
    """Put a line end into an event where JSON may have one, as several `data` lines."""
    if events:
        place = rng.randrange(len(events))
        events[place] = events[place].replace(b',"', b',\ndata: "', rng.randint(1, 3))


# Of bytes.


def _change_line_ends(rng: Random, stream: bytes) -> bytes:
    return stream.replace(b"\n", rng.choice((b"\r\n", b"\r")), rng.choice((-1, 1, 3)))


def _mark_byte_order(_: Random, stream: bytes) -> bytes:
    return b"\xef\xbb\xbf" + stream


def _truncate(rng: Random, stream: bytes) -> bytes:
    return stream[: rng.randrange(len(stream) + 1)]


def _lose_bytes(rng: Random, stream: bytes) -> bytes:
    start, end = _span(rng, len(stream), 40)
    return stream[:start] + stream[end:]


def _double_bytes(rng: Random, stream: bytes) -> bytes:
    start, end = _span(rng, len(stream), 400)
    return stream[:end] + stream[start:]


def _add_bytes(rng: Random, stream: bytes) -> bytes:
    place = rng.randrange(len(stream) + 1)
    return stream[:place] + rng.choice((*_BYTES, *_LINES, rng.randbytes(3))) + stream[place:]


def _change_bytes(rng: Random, stream: bytes) -> bytes:
    start, end = _span(rng, len(stream), 3)
    return stream[:start] + rng.randbytes(end - start) + stream[end:]


def _payload(event: bytes) -> Any:
    try:
        return json.loads(event.removeprefix(b"data: "))
    except ValueError:
        return None


def _event(rng: Random, payload: Any) -> bytes:
    text = json.dumps(payload, ensure_ascii=rng.random() < 0.5)
    return b"data: " + text.encode("utf-8", "surrogatepass") + b"\n\n"


def _holders(value: Any) -> list[Any]:
    """List all objects and arrays in a JSON value, the outer ones first."""
    found: list[Any] = [value] if _is_holder(value) else []
    for holder in found:
        found += [inner for inner in _inside(holder).values() if _is_holder(inner)]
    return found


def _is_holder(value: Any) -> bool:
    return isinstance(value, dict | list)


def _inside(holder: Any) -> dict[Any, Any]:
    """Give what an object or an array holds, by key or place."""
    return cast(JsonObject, holder) if isinstance(holder, dict) else dict(enumerate(cast(list[Any], holder)))


_OF_EVENTS: tuple[Callable[[Random, Events, list[Events]], None], ...] = (
    _drop, _double, _move, _splice, _insert_of_another, _add_line, _merge, _change_value, _change_value, _change_value,
    _split_text, _split_text, _break_tokens, _break_line,
)  # fmt: skip
_OF_BYTES: tuple[Callable[[Random, bytes], bytes], ...] = (
    _change_line_ends, _change_line_ends, _mark_byte_order, _truncate, _lose_bytes, _double_bytes, _add_bytes,
    _change_bytes,
)  # fmt: skip
