"""How much of this machine's memory a stream can take, however it is made (L4, L5)."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Iterable
from typing import Any

import pytest

from service.core.completion_stream import CompletionStream
from service.core.sse import MAX_EVENT_BYTES, MAX_LINE_BYTES
from tests.core.completion_outcome import event

CHARACTERS = 16_000
IN_ONE_EVENT = 2_000


def taken(pieces: Iterable[bytes]) -> tuple[int, int]:
    """Read a stream, and give the bytes that it holds at its end, and the most that it ever took."""
    gc.collect()
    tracemalloc.start()
    try:
        stream = CompletionStream(thinking_budget_tokens=16)
        before, _ = tracemalloc.get_traced_memory()
        for piece in pieces:
            stream.feed(piece)
        gc.collect()
        held, peak = tracemalloc.get_traced_memory()
        return held - before, peak - before
    finally:
        tracemalloc.stop()


def one_character_each(delta: Any) -> list[bytes]:
    """Make events of very many deltas with one character each, which costs most where each is kept alone."""
    choices = [{"delta": delta}] * IN_ONE_EVENT
    return [event(json.dumps({"choices": choices}, ensure_ascii=False))] * (CHARACTERS // IN_ONE_EVENT)


def piece(**function: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "function": function}]}


@pytest.mark.rules("L5")
@pytest.mark.parametrize(
    "delta",
    [
        {"content": "\u5b57"},
        {"reasoning_content": "\u5b57"},
        {"content": "\u3000"},
        piece(arguments="\u5b57"),
        piece(name="\u5b57"),
    ],
    ids=["content", "reasoning", "white space", "arguments", "name"],
)
def test_text_in_the_smallest_pieces_takes_little_more_than_its_characters(delta: Any) -> None:
    held, _ = taken(one_character_each(delta))

    assert held < 6 * CHARACTERS


@pytest.mark.rules("L4")
@pytest.mark.parametrize(
    "pieces",
    [
        [b"x" * 65_536] * (MAX_LINE_BYTES // 65_536 + 1),
        [b"data:abcdefg\n" * 8_192] * (MAX_EVENT_BYTES // 8 // 8_192 + 1),
        [b'data: {"x":[' + b"{}," * ((MAX_LINE_BYTES - 32) // 3) + b"0]}\n\n"] * 2,
    ],
    ids=["a line without end", "an event without end", "the largest payload"],
)
def test_what_is_read_before_it_is_understood_takes_tens_of_megabytes_at_most(pieces: list[bytes]) -> None:
    held, peak = taken(pieces)

    assert peak < 48 * MAX_LINE_BYTES
    assert held < 20 * MAX_LINE_BYTES
