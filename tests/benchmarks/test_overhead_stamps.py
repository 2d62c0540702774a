"""Stamps are found once each, however their bytes are cut and framed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks.overhead.percentiles import percentile
from benchmarks.overhead.stamps import StampFinder

SENT = [2_600_000_000_100 + 20 * number for number in range(120)]


def stamp(number: int) -> str:
    return f"T{SENT[number]:015d}.{number}E "


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


WHOLE = "".join(map(stamp, range(120))).encode()
FRAMINGS = {
    "llama-server": b"".join(
        chunk(f'data: {{"choices":[{{"delta":{{"content":"{stamp(number)}"}}}}]}}\n\n'.encode())
        for number in range(120)
    ),
    "several in one event": b"".join(
        chunk(("event: content\r\ndata: " + "".join(stamp(n) for n in range(first, first + 8)) + "\r\n\r\n").encode())
        for first in range(0, 120, 8)
    ),
    "all of it again at the end": chunk(WHOLE) + chunk(b'{"message":"%b"}' % WHOLE),
    "a new chunk each 7 bytes": b"".join(chunk(WHOLE[place : place + 7]) for place in range(0, len(WHOLE), 7)),
    "a new chunk each 30 bytes": b"".join(chunk(WHOLE[place : place + 30]) for place in range(0, len(WHOLE), 30)),
}
LAST = b"0\r\n\r\n"


def found(pieces: Sequence[bytes]) -> tuple[int, list[int], StampFinder]:
    finder, sent_us = StampFinder(), list[int]()
    count = sum(finder.feed(piece, sent_us) for piece in pieces)
    return count, sent_us, finder


@pytest.mark.parametrize("size", [1, 2, 3, 5, 26, 41, 64, 1000, 1 << 20])
@pytest.mark.parametrize("name", [name for name in FRAMINGS if name != "a new chunk each 7 bytes"])
def test_each_stamp_is_found_once_wherever_the_bytes_are_cut(name: str, size: int) -> None:
    body = FRAMINGS[name] + LAST
    count, sent_us, finder = found([body[place : place + size] for place in range(0, len(body), size)])

    assert (count, finder.last, finder.at_end) == (120, 119, True)
    assert sent_us == SENT


def test_a_stamp_that_is_cut_more_than_once_is_at_least_not_taken_for_another() -> None:
    _, sent_us, _ = found([FRAMINGS["a new chunk each 7 bytes"]])

    assert set(sent_us) <= set(SENT)


def test_the_end_is_known_as_soon_as_its_last_byte_is_there() -> None:
    finder = StampFinder()
    seen: list[bool] = []
    for piece in (chunk(stamp(0).encode()), b"0\r\n", b"\r", b"\n"):
        finder.feed(piece)
        seen.append(finder.at_end)

    assert seen == [False, False, False, True]


def test_without_a_list_stamps_are_only_counted() -> None:
    finder = StampFinder()

    assert finder.feed(FRAMINGS["llama-server"]) == 120


@pytest.mark.parametrize(
    ("share", "value"),
    [(0, 1), (0.5, 51), (0.99, 100), (1, 100)],
)
def test_a_percentile_is_one_of_the_values(share: float, value: float) -> None:
    assert percentile(range(100, 0, -1), share) == value


def test_a_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 0.5)
