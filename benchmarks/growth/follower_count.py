"""What a token costs when many follow its session. Above: `run`. Below: listeners, a service."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles

from benchmarks.growth.connection import connected
from benchmarks.growth.listener import Listener, listener
from benchmarks.growth.turns import begin_turn, make_session, prompt, run_turn
from benchmarks.startup.own_service import OwnService, own_service
from benchmarks.startup.rounds import Measured

_BETWEEN_MS = 100
_WARM_TURNS = 20
_OPENED_AT_ONCE = 20
# After those who left: the service notices that they have gone.
_PAUSE_S = 0.5
_BOUND_S = 60


async def round_of_followers(folder: Path, llama_url: str, counts: Sequence[int], *, tokens: int) -> list[Measured]:
    """Measure a turn with each number of followers once, each in a session of its own."""
    store = folder / "followed.db"
    async with own_service(store, llama_url=llama_url) as service:
        async with connected(service.port) as connection:
            warm = await make_session(connection)
            for _ in range(_WARM_TURNS):
                await run_turn(connection, warm)
        return [one for count in counts for one in await _measured(service, count, tokens)]


async def _measured(service: OwnService, followers: int, tokens: int) -> list[Measured]:
    # No connection is kept for the time of a turn: the service closes those that say nothing for long.
    async with connected(service.port) as connection:
        session = await make_session(connection)
    listeners: list[Listener] = []
    try:
        while len(listeners) < followers:
            some = min(_OPENED_AT_ONCE, followers - len(listeners))
            listeners += await asyncio.gather(*(listener(service.port, session, tokens) for _ in range(some)))
        before = service.cpu_s()
        async with asyncio.timeout(_BOUND_S + tokens * _BETWEEN_MS / 1000):
            async with connected(service.port) as connection:
                await begin_turn(connection, session, prompt(tokens, _BETWEEN_MS))
            await asyncio.gather(*(one.ended for one in listeners))
        cpu_s = service.cpu_s() - before
    finally:
        for one in listeners:
            one.leave()
    await asyncio.sleep(_PAUSE_S)
    late_us = [late for one in listeners for late in one.late_us]
    percent = quantiles(late_us, n=100)
    merged = 1 - sum(one.frames for one in listeners) / len(late_us)
    conditions = f"{followers:,} followers of a session, {tokens} tokens at {1000 // _BETWEEN_MS} tokens/s"
    return [
        Measured(measure=measure, unit=unit, value=value, conditions=conditions)
        for measure, unit, value in (
            ("CPU per token and follower", "µs", cpu_s * 1e6 / len(late_us)),
            ("a token's way to a follower, p50", "ms", percent[49] / 1000),
            ("a token's way to a follower, p99", "ms", percent[98] / 1000),
            ("tokens that came joined to others", "%", merged * 100),
        )
    ]
