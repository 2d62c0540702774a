"""Lines are cut the same however they come, and one that is too long costs no memory and is known by its id."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.mcp_port.bounded_lines import BoundedLines, TooLong


def in_pieces(data: bytes, size: int, most_bytes: int = 1000) -> list[bytes | TooLong]:
    lines = BoundedLines(most_bytes)
    return [line for start in range(0, len(data), size) for line in lines.feed(data[start : start + size])]


@given(st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b""))), st.integers(1, 50))
def test_lines_are_the_same_in_whatever_pieces_they_come(lines: list[bytes], size: int) -> None:
    data = b"".join(line + b"\n" for line in lines)

    assert in_pieces(data, size) == lines


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
@pytest.mark.parametrize(
    ("begin", "end", "number"),
    [
        ('{"jsonrpc":"2.0","id":17,"result":{"text":"', '"}}', "17"),
        ('{"jsonrpc": "2.0", "id": "a-1", "result": {"text": "', '"}}', '"a-1"'),
        ('{"id":17,"jsonrpc":"2.0","result":{"text":"', '"}}', "17"),
        ('{"result":{"text":"', '"},"jsonrpc":"2.0","id":17}', "17"),
        ('{"result":{"text":"', '"}, "id": 17, "jsonrpc": "2.0"}', "17"),
        ('{"result":{"text":"', '"},"id":17}', "17"),
        ('{"result":{"text":"', '","id":17}}', None),
        ('{"result":{"id":17,"text":"', '"}}', None),
        ('"', '"', None),
    ],
)
def test_a_line_that_is_too_long_is_known_by_the_id_at_its_edge(
    begin: str, end: str, number: str | None, size: int
) -> None:
    data = f"first\n{begin}{'x' * 5000}{end}\nlast\n".encode()

    assert in_pieces(data, size) == [b"first", TooLong(number), b"last"]


def test_a_line_of_just_the_bound_is_a_line_and_one_more_is_not() -> None:
    assert in_pieces(b"x" * 1000 + b"\n", 64) == [b"x" * 1000]
    assert in_pieces(b"x" * 1001 + b"\n", 64) == [TooLong(None)]
    assert in_pieces(b"x" * 1001 + b"\n", 5000) == [TooLong(None)]


def test_a_line_of_50_mb_takes_no_memory() -> None:
    lines, chunk = BoundedLines(1024 * 1024), b"x" * 65_536
    tracemalloc.start()
    try:
        for _ in range(800):
            assert list(lines.feed(chunk)) == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert list(lines.feed(b"\n" + json.dumps({"a": 1}).encode() + b"\n")) == [TooLong(None), b'{"a": 1}']
    assert peak < 8 * 1024 * 1024
