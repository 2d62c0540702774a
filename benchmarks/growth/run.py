"""Run all parts of the benchmark, round after round. Above: `__main__` and the report. Below: the three parts."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.growth.follower_count import round_of_followers
from benchmarks.growth.log_length import LongSessions, long_sessions, round_of_lengths
from benchmarks.growth.model_stand_in import model_stand_in
from benchmarks.growth.options import Sizes
from benchmarks.growth.session_count import ManySessions, many_sessions, round_of_counts
from benchmarks.results import Figure
from benchmarks.startup.rounds import Measured, figures

NAME = "growth"

_ALL = Sizes()


def measure(rounds: int, *, sizes: Sizes = _ALL) -> list[Figure]:
    """Measure in so many rounds; the stores are made once."""
    return figures(NAME, asyncio.run(_rounds(rounds, sizes)))


async def _rounds(rounds: int, sizes: Sizes) -> list[list[Measured]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        long = await long_sessions(folder, sizes.records)
        many = [await many_sessions(folder, count) for count in sizes.sessions]
        async with model_stand_in(folder) as llama_url:
            return [await _round(folder, long, many, llama_url, sizes) for _ in range(rounds)]


async def _round(
    folder: Path, long: LongSessions, many: Sequence[ManySessions], llama_url: str, sizes: Sizes
) -> list[Measured]:
    measured: list[Measured] = []
    if long.ids:
        measured += await round_of_lengths(long, llama_url, turns=sizes.turns)
    measured += await round_of_counts(many, llama_url, requests=sizes.requests)
    if sizes.followers:
        measured += await round_of_followers(folder, llama_url, sizes.followers, tokens=sizes.tokens)
    return measured
