"""One way to feed every parser: whole, byte by byte, and cut in two at each place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

Outcome = TypeVar("Outcome")
Stream = TypeVar("Stream", bytes, str)

# A longer stream is cut at this many places only, unless a test wants all of them.
_PLACES = 200


def ways_to_cut(data: Stream, *, everywhere: bool = False) -> Iterator[list[Stream]]:
    """Yield the same data in different pieces, empty ones among them."""
    yield [data]
    yield [data[place : place + 1] for place in range(len(data))]
    step = 1 if everywhere else max(1, len(data) // _PLACES)
    for place in range(0, len(data) + 1, step):
        yield [data[:place], data[place:]]


def same_for_all_cuts(read: Callable[[list[Stream]], Outcome], data: Stream, *, everywhere: bool = False) -> Outcome:
    """Read the data in all these ways, and give the one outcome that they must have."""
    ways = ways_to_cut(data, everywhere=everywhere)
    outcome = read(next(ways))
    for pieces in ways:
        assert read(pieces) == outcome, [piece[-20:] for piece in pieces[:-1]]
    return outcome
