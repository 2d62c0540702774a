"""Write to the store and read from it, in this process. Above: `__main__` and the report. Below: the store."""

from __future__ import annotations

import asyncio
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from benchmarks.growth.stored import new_session, store_long_session, turn_drafts
from benchmarks.results import Figure
from benchmarks.startup.rounds import Measured, figures
from service.adapters.log_sql import SqlLog, open_sql_log
from service.adapters.system import RandomIds
from service.codec import decode_record
from service.core.ids import SessionId
from service.core.session_status import SessionStatus

NAME = "log"

_IDLE = SessionStatus()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is written and read: turns of each of so many appenders, lone appends, records of the session."""

    appenders: int = 64
    turns: int = 300
    appends: int = 500
    records: int = 10_000


_ALL = Sizes()


def measure(rounds: int, *, sizes: Sizes = _ALL) -> list[Figure]:
    """Measure in so many rounds, each with a store of its own."""
    return figures(NAME, [asyncio.run(_round(sizes)) for _ in range(rounds)])


async def _round(sizes: Sizes) -> list[Measured]:
    with tempfile.TemporaryDirectory() as folder:
        async with open_sql_log(f"sqlite:///{(Path(folder) / 'log.db').as_posix()}") as log:
            return [*await _many(log, sizes), *await _lone(log, sizes), *await _read(log, sizes)]


async def _many(log: SqlLog, sizes: Sizes) -> list[Measured]:
    """Let all appenders append turn after turn, each to its own session, as fast as they are answered."""
    sessions = [await _session(log) for _ in range(sizes.appenders)]
    drafts = turn_drafts(sessions[0])

    async def append_turns(session: SessionId) -> None:
        for turn in range(sizes.turns):
            await log.append(session, 1 + turn * len(drafts), drafts, _IDLE, datetime.now(UTC))

    begun, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(append_turns(session) for session in sessions))
    took_s, cpu_s = time.perf_counter() - begun, time.process_time() - cpu
    written = sizes.appenders * sizes.turns * len(drafts)
    conditions = f"{sizes.appenders} appenders, {len(drafts)} records an append"
    return [
        Measured(measure="records written", unit="records/s", value=written / took_s, conditions=conditions),
        Measured(measure="turns written", unit="turns/s", value=written / len(drafts) / took_s, conditions=conditions),
        Measured(measure="CPU per record", unit="µs", value=cpu_s * 1e6 / written, conditions=conditions),
    ]


async def _lone(log: SqlLog, sizes: Sizes) -> list[Measured]:
    session = await _session(log)
    (draft, *_) = turn_drafts(session)
    took: list[float] = []
    cpu = time.process_time()
    for place in range(sizes.appends):
        begun = time.perf_counter()
        await log.append(session, 1 + place, [draft], _IDLE, datetime.now(UTC))
        took.append(time.perf_counter() - begun)
    cpu_s = time.process_time() - cpu
    conditions = "one appender, one record an append"
    return [
        Measured(measure="append, p50", unit="µs", value=median(took) * 1e6, conditions=conditions),
        Measured(measure="CPU per append", unit="µs", value=cpu_s * 1e6 / sizes.appends, conditions=conditions),
    ]


async def _read(log: SqlLog, sizes: Sizes) -> list[Measured]:
    session = await store_long_session(log, sizes.records)
    begun = time.perf_counter()
    stored = await log.read(session)
    read_s = time.perf_counter() - begun
    for record in stored:
        decode_record(record.body)
    decoded_s = time.perf_counter() - begun
    conditions = f"a session of {sizes.records:,} records, whole"
    return [
        Measured(measure="records read", unit="records/s", value=len(stored) / read_s, conditions=conditions),
        Measured(
            measure="records read and decoded", unit="records/s", value=len(stored) / decoded_s, conditions=conditions
        ),
    ]


async def _session(log: SqlLog) -> SessionId:
    session = RandomIds().session()
    await log.create_session(new_session(session, datetime.now(UTC)), turn_drafts(session)[:1], _IDLE)
    return session
