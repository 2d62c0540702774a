"""Many streams at a pace that a model has: what each token costs the server, and how late it comes.

Above: the modes by name, and the search for most streams. Below: the running subject.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass

from benchmarks.overhead.answers import Answer, Tally
from benchmarks.overhead.failures import MeasurementFailed
from benchmarks.overhead.measures import CPU_PER_TOKEN, DELIVERED, LATENCY_P50, LATENCY_P99, Values
from benchmarks.overhead.percentiles import percentile
from benchmarks.overhead.target import Target
from benchmarks.overhead.together import together

DELAY_MS = 20
TOKENS_PER_SECOND = 1000 // DELAY_MS
# Longer than it takes to open all streams, so that none ends while it is measured.
_MARGIN_S = 8
_OPENING_S = 1.5
_LONGEST_GAP_S = 0.004
_FIRST_TOKENS_S = 10
_CALM_S = 0.5
# The same places between two ticks for each subject and in each round.
_SEED = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Paced:
    """What was seen; `delivered` is the share of the tokens that the pace gives."""

    cpu_us: float
    p50_us: float
    p99_us: float
    delivered: float

    def values(self) -> Values:
        """Give it by measures."""
        return {
            CPU_PER_TOKEN: self.cpu_us,
            LATENCY_P50: self.p50_us,
            LATENCY_P99: self.p99_us,
            DELIVERED: 100 * self.delivered,
        }


async def paced(target: Target, *, streams: int, seconds: float) -> Paced:
    """Hold so many streams of 50 tokens per second open, and measure for some seconds.

    Raises:
        MeasurementFailed: the streams can't be opened, or nothing comes.
    """
    tally = Tally()
    answers = await _opened(target, streams, seconds, tally)
    try:
        # Those that still have no token then show in the share that is delivered.
        await asyncio.wait([answer.began for answer in answers], timeout=_FIRST_TOKENS_S)
        await asyncio.sleep(_CALM_S)
        return await _measured(target, tally, streams, seconds)
    finally:
        for answer in answers:
            answer.leave()


async def _opened(target: Target, streams: int, seconds: float, tally: Tally) -> list[Answer]:
    tokens = int((seconds + _MARGIN_S) * TOKENS_PER_SECOND)
    phases = random.Random(_SEED)
    gap_s = min(_LONGEST_GAP_S, _OPENING_S / streams)

    async def open_one(number: int, phase_ms: float) -> Answer:
        await asyncio.sleep(number * gap_s)
        return await target.open(f"fake:n={tokens},d={DELAY_MS},f={phase_ms:.2f}", tokens, tally)

    return await together([open_one(number, phases.uniform(0, DELAY_MS)) for number in range(streams)])


async def _measured(target: Target, tally: Tally, streams: int, seconds: float) -> Paced:
    latencies: list[int] = []
    tally.latencies_us = latencies
    tokens, cpu_s, begun = tally.tokens, target.cpu_s(), time.monotonic()
    await asyncio.sleep(seconds)
    tokens, cpu_s, took_s = tally.tokens - tokens, target.cpu_s() - cpu_s, time.monotonic() - begun
    tally.latencies_us = None
    if not latencies:
        raise MeasurementFailed(f"{target.name}: no token came in {seconds:g} s {tally.first_failure}")
    return Paced(
        cpu_us=1e6 * cpu_s / tokens,
        p50_us=percentile(latencies, 0.5),
        p99_us=percentile(latencies, 0.99),
        delivered=tokens / took_s / (streams * TOKENS_PER_SECOND),
    )
