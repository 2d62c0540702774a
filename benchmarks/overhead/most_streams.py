"""How many streams at the pace of a model one core can serve: doubled until it can't, then halved in between.

Above: the modes by name. Below: the paced streams.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from benchmarks.overhead.failures import MeasurementFailed
from benchmarks.overhead.measures import MOST_STREAMS, Values
from benchmarks.overhead.paced import paced
from benchmarks.overhead.target import Target

LATE_MS = 50
LEAST_DELIVERED = 0.98
# What the client and the upstream, on one core together, can do themselves.
MOST_TRIED = 1600
_HALVINGS = 4
# Closer than this share of what is known to go is close enough.
_CLOSE_ENOUGH = 0.05

Serves = Callable[[int], Awaitable[bool]]
"""Says whether so many streams are served well."""


async def most_streams(target: Target, *, first_tried: int, seconds: float, say: Callable[[str], None]) -> Values:
    """Search for the most streams that a server delivers 98 % of the tokens of, 99 % of these within 50 ms."""

    async def serves(streams: int) -> bool:
        try:
            seen = await paced(target, streams=streams, seconds=seconds)
        except MeasurementFailed as failure:
            say(f"  {target.name} with {streams} streams: {failure}")
            await target.settle()
            return False
        await target.settle()
        say(f"  {target.name} with {streams} streams: p99 {seen.p99_us / 1000:.1f} ms, {100 * seen.delivered:.1f} %")
        return seen.p99_us <= LATE_MS * 1000 and seen.delivered >= LEAST_DELIVERED

    return {MOST_STREAMS: await greatest(serves, first=first_tried, most=MOST_TRIED)}


async def greatest(serves: Serves, *, first: int, most: int) -> int:
    """Find about the greatest number, up to `most`, that is served; 0 where none of those tried is."""
    served, refused = 0, first
    while await serves(refused):
        served, refused = refused, min(2 * refused, most)
        if served == most:
            return most
    for _ in range(_HALVINGS):
        between = (served + refused) // 2
        if between - served < max(1, served * _CLOSE_ENOUGH):
            break
        if await serves(between):
            served = between
        else:
            refused = between
    return served
