"""Some clients that each ask again as soon as they have their answer: floods, short turns, first tokens.

Above: the modes by name. Below: the running subject.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from benchmarks.overhead.answers import Tally
from benchmarks.overhead.failures import MeasurementFailed
from benchmarks.overhead.measures import (
    CPU_PER_TOKEN,
    CPU_PER_TURN,
    FIRST_TOKEN_P50,
    FIRST_TOKEN_P99,
    TOKENS_PER_SECOND,
    TURNS_PER_SECOND,
    Values,
)
from benchmarks.overhead.percentiles import percentile
from benchmarks.overhead.target import Target
from benchmarks.overhead.together import together

FLOOD_STREAMS = 16
FLOOD_TOKENS = 1000
SHORT_TURNS = 16
SHORT_TURN_TOKENS = 16
_LONGEST_ANSWER_S = 120
_WARM_UP_S = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """What came of all clients together."""

    tally: Tally
    cpu_s: float
    took_s: float


async def flood(target: Target, seconds: float) -> Values:
    """Have streams without a pace: how much goes through one core."""
    loop = await closed_loop(target, clients=FLOOD_STREAMS, tokens=FLOOD_TOKENS, seconds=seconds)
    return {
        TOKENS_PER_SECOND: loop.tally.tokens / loop.took_s,
        CPU_PER_TOKEN: 1e6 * loop.cpu_s / loop.tally.tokens,
    }


async def short_turns(target: Target, seconds: float) -> Values:
    """Have turns of few tokens: what all around the tokens costs."""
    loop = await closed_loop(target, clients=SHORT_TURNS, tokens=SHORT_TURN_TOKENS, seconds=seconds)
    return {
        TURNS_PER_SECOND: loop.tally.answers / loop.took_s,
        CPU_PER_TURN: 1e3 * loop.cpu_s / loop.tally.answers,
    }


async def first_token(target: Target, seconds: float) -> Values:
    """Have one turn at a time: how long an idle server takes from the request to its first token."""
    loop = await closed_loop(target, clients=1, tokens=1, seconds=seconds)
    return {
        FIRST_TOKEN_P50: percentile(loop.tally.first_token_us, 0.5) / 1000,
        FIRST_TOKEN_P99: percentile(loop.tally.first_token_us, 0.99) / 1000,
    }


async def warm_up(target: Target) -> None:
    """Have a server do once what it will be asked for."""
    await closed_loop(target, clients=2, tokens=50, seconds=_WARM_UP_S)


async def closed_loop(target: Target, *, clients: int, tokens: int, seconds: float) -> Loop:
    """Run clients that ask one after the other for answers without a pace, until the seconds are over.

    Raises:
        MeasurementFailed: an answer failed, or took too long.
    """
    tally, prompt = Tally(), f"fake:n={tokens},d=0"
    cpu_s, begun = target.cpu_s(), time.monotonic()

    async def ask_on() -> None:
        while time.monotonic() < begun + seconds:
            answer = await target.open(prompt, tokens, tally)
            try:
                async with asyncio.timeout(_LONGEST_ANSWER_S):
                    await answer.ended
            finally:
                answer.leave()

    try:
        await together([ask_on() for _ in range(clients)])
    except TimeoutError as error:
        raise MeasurementFailed(f"{target.name}: an answer took {_LONGEST_ANSWER_S} s") from error
    if tally.failures:
        raise MeasurementFailed(f"{target.name}: {tally.failures} answers failed: {tally.first_failure}")
    return Loop(tally=tally, cpu_s=target.cpu_s() - cpu_s, took_s=time.monotonic() - begun)
