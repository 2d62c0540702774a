"""The streams that are broken: the recordings, the long ones without their middle, and odd ones made by hand."""

from __future__ import annotations

from tests.core.completion_outcome import DONE, END, STOP, USAGE, calls, chunk, content, event, reasoning
from tests.recordings.exchanges import names, recorded

_LONG = 8_000
_KEPT_EVENTS = 10

_MADE = (
    content("<think>", "why", " not", "</think>", "\n\n", "Yes.") + END,
    content("<think>why</think>Yes, </think> it is.") + END,
    reasoning(*"thought") + content(" and", " so on", "</think>", "\n", "Yes", "</think>", ".") + END,
    reasoning(*"thought") + content("x" * 399, "y", "</think>", "Yes.") + END,
    reasoning(*"thought") + content("x" * 399, "yz", "</think>", "Yes.") + END,
    chunk({"reasoning_content": None, "reasoning": "why"})
    + chunk({"reasoning_content": "", "reasoning": " not"})
    + END,
    reasoning("why") + content("\n", "</think>", "No.") + chunk({}, "length") + DONE,
    calls(
        {"index": 0, "id": "a", "type": "function", "function": {"name": "add", "arguments": ""}},
        {"index": 0, "function": {"name": "add", "arguments": '{"x":1}'}},
        {"index": 1, "id": "b", "function": {"name": "now", "arguments": "{}"}},
    )
    + chunk({}, "tool_calls")
    + USAGE
    + DONE,
    calls(
        {"index": 0, "id": "a", "function": {"name": "add", "arguments": "{"}},
        {"index": 1, "id": "b", "function": {"name": "now", "arguments": ""}},
        {"index": 0, "function": {"arguments": '"x":1}'}},
        {"index": 1, "function": {"arguments": "{}"}},
    )
    + chunk({}, "tool_calls")
    + DONE,
    calls(
        {"function": {"name": "add", "arguments": '{"x":1}'}},
        {"function": {"name": "add", "arguments": {"x": 2}}},
        {"id": "c", "function": {"name": "get_"}},
        {"id": "c", "function": {"name": "weather", "arguments": "{}"}},
    )
    + chunk({}, "tool_calls")
    + DONE,
    content("Hi") + b'error: {"code":500,"message":"Compute error."}\n\n',
    content("Hi") + b'event: error\ndata: {"error":{"message":"no"}}\n\n' + STOP,
    b": ping\n\n" + content("Hi") + b":\n\n" + chunk({"content": " you"}, "stop", usage={"prompt_tokens": 1}) + DONE,
    event({"prompt_progress": {"total": 9, "cache": 3, "processed": 9, "time_ms": 1}}) + content("Hi") + STOP,
)


def seeds() -> list[list[bytes]]:
    """Give each stream as its events, each with the blank line behind it."""
    recorded_streams = [exchange.body for name in names() if (exchange := recorded(name)).streams]
    return [_without_middle(stream) for stream in (*recorded_streams, *_MADE) if stream]


def _without_middle(stream: bytes) -> list[bytes]:
    events = [text + b"\n\n" for text in stream.split(b"\n\n") if text]
    if len(stream) > _LONG:
        events = events[:_KEPT_EVENTS] + events[-_KEPT_EVENTS:]
    return events
