"""What a turn costs in sessions whose logs are of different lengths. Above: `run`. Below: stored logs, a service."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.growth.connection import Connection, connected
from benchmarks.growth.stored import store_long_session
from benchmarks.growth.turns import TOKENS, make_session, run_turn
from benchmarks.startup.own_service import OwnService, own_service
from benchmarks.startup.rounds import Measured
from service.adapters.log_sql import open_sql_log

_BLOCKS = 4
_WARM_TURNS = 20
# Between two of the requests that are made while a log is read.
_PAUSE_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class LongSessions:
    """A store with a session of each length; `ids` by the number of records."""

    store: Path
    ids: Mapping[int, str]


async def long_sessions(folder: Path, lengths: Sequence[int]) -> LongSessions:
    """Make the store, once for all rounds."""
    store = folder / "long.db"
    async with open_sql_log(f"sqlite:///{store.as_posix()}") as log:
        return LongSessions(store=store, ids={length: await store_long_session(log, length) for length in lengths})


async def round_of_lengths(made: LongSessions, llama_url: str, *, turns: int) -> list[Measured]:
    """Measure each length once: the first turn after a start, later ones, and what waits while a log is read.

    Each round begins with the store as it was made, so that prompts are of the same length in each.
    """
    async with _warm_service(made, llama_url) as (service, connection):
        first = [(length, *await _cost(service, connection, session, 1)) for length, session in made.ids.items()]
        later = dict.fromkeys(made.ids, 0.0)
        for _ in range(_BLOCKS):
            for length, session in made.ids.items():
                later[length] += (await _cost(service, connection, session, turns // _BLOCKS))[0] / _BLOCKS
    async with _warm_service(made, llama_url) as (service, connection), connected(service.port) as other:
        waited = {length: await _waited_s(connection, other, session) for length, session in made.ids.items()}
    return [
        *(_measured("CPU per turn", length, cpu_s * 1000) for length, cpu_s in later.items()),
        *(_measured("CPU of the first turn after a start", length, cpu_s * 1000) for length, cpu_s, _ in first),
        *(_measured("first turn after a start", length, took_s * 1000) for length, _, took_s in first),
        *(
            _measured("longest wait of another request meanwhile", length, wait_s * 1000)
            for length, wait_s in waited.items()
        ),
    ]


@asynccontextmanager
async def _warm_service(made: LongSessions, llama_url: str) -> AsyncGenerator[tuple[OwnService, Connection]]:
    copy = made.store.with_name("round.db")
    shutil.copyfile(made.store, copy)
    async with own_service(copy, llama_url=llama_url) as service, connected(service.port) as connection:
        session = await make_session(connection)
        for _ in range(_WARM_TURNS):
            await run_turn(connection, session)
            await connection.ask("GET", "/livez")
        yield service, connection
    for left in copy.parent.glob("round.db*"):
        left.unlink()


async def _cost(service: OwnService, connection: Connection, session: str, turns: int) -> tuple[float, float]:
    """Run turns one after the other; gives CPU and time of one, in seconds."""
    before = service.cpu_s()
    took_s = sum([(await run_turn(connection, session)).took_s for _ in range(turns)])
    return (service.cpu_s() - before) / turns, took_s / turns


async def _waited_s(connection: Connection, other: Connection, session: str) -> float:
    """Give the longest that a request which needs nothing takes while a session's log is read for its first turn."""
    turn = asyncio.create_task(run_turn(connection, session))
    longest_s = 0.0
    while not turn.done():
        longest_s = max(longest_s, (await other.ask("GET", "/livez")).took_s)
        await asyncio.wait({turn}, timeout=_PAUSE_S)
    await turn
    return longest_s


def _measured(measure: str, records: int, milliseconds: float) -> Measured:
    conditions = f"{records:,} records in the session, turns of {TOKENS} tokens"
    return Measured(measure=measure, unit="ms", value=milliseconds, conditions=conditions)
