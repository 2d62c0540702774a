"""The modes by name: each measures one running subject once, under conditions that stand in the tables.

Above: the bench, which runs them in rounds. Below: one module for each kind of mode.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from benchmarks.overhead import closed_loop, most_streams
from benchmarks.overhead.measures import Values
from benchmarks.overhead.memory import FEW, MANY, memory
from benchmarks.overhead.paced import TOKENS_PER_SECOND, paced
from benchmarks.overhead.target import Target

FEW_STREAMS = 16
MANY_STREAMS = 64
_PEERS_FIRST_TRIED = 16
_OWN_FIRST_TRIED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long each measurement takes, in seconds, and where what is seen on the way is said."""

    seconds: float
    say: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One way to measure.

    `for_peers`: whether peers are measured, too. `fresh`: whether each round has a server of its own, with nothing
    done before. `has_upstream`: whether the upstream is a subject as well.
    """

    benchmark: str
    conditions: str
    measure: Callable[[Target, Effort], Awaitable[Values]]
    for_peers: bool = True
    has_upstream: bool = True
    fresh: bool = False


async def _paced_many(target: Target, effort: Effort) -> Values:
    return (await paced(target, streams=MANY_STREAMS, seconds=effort.seconds)).values()


async def _paced_few(target: Target, effort: Effort) -> Values:
    return (await paced(target, streams=FEW_STREAMS, seconds=effort.seconds)).values()


async def _flood(target: Target, effort: Effort) -> Values:
    return await closed_loop.flood(target, effort.seconds)


async def _first_token(target: Target, effort: Effort) -> Values:
    return await closed_loop.first_token(target, effort.seconds)


async def _short_turns(target: Target, effort: Effort) -> Values:
    return await closed_loop.short_turns(target, effort.seconds)


async def _memory(target: Target, effort: Effort) -> Values:
    return await memory(target)


async def _most_streams(target: Target, effort: Effort) -> Values:
    first = _PEERS_FIRST_TRIED if target.is_peer else _OWN_FIRST_TRIED
    return await most_streams.most_streams(target, first_tried=first, seconds=effort.seconds, say=effort.say)


PACED_MANY = Mode(
    benchmark="paced",
    conditions=f"{MANY_STREAMS} streams at {TOKENS_PER_SECOND} tokens/s",
    measure=_paced_many,
    # Some of them would need more than the core they have.
    for_peers=False,
)
PACED_FEW = Mode(
    benchmark="paced", conditions=f"{FEW_STREAMS} streams at {TOKENS_PER_SECOND} tokens/s", measure=_paced_few
)
FLOOD = Mode(
    benchmark="flood",
    conditions=f"{closed_loop.FLOOD_STREAMS} streams of {closed_loop.FLOOD_TOKENS} tokens, no pace",
    measure=_flood,
)
FIRST_TOKEN = Mode(benchmark="first_token", conditions="one turn at a time", measure=_first_token)
SHORT_TURNS = Mode(
    benchmark="short_turns",
    conditions=f"{closed_loop.SHORT_TURNS} at once, {closed_loop.SHORT_TURN_TOKENS} tokens each",
    measure=_short_turns,
)
MEMORY = Mode(
    benchmark="memory",
    conditions=f"from {FEW} to {MANY} open streams",
    measure=_memory,
    has_upstream=False,
    fresh=True,
)
MOST_STREAMS = Mode(
    benchmark="most_streams",
    conditions=f"at {TOKENS_PER_SECOND} tokens/s, up to {most_streams.MOST_TRIED} tried",
    measure=_most_streams,
)
MODES = (PACED_MANY, PACED_FEW, FLOOD, FIRST_TOKEN, SHORT_TURNS, MEMORY, MOST_STREAMS)
