"""Start the service on stores of different sizes, and the program for a word of help. Above: `__main__`, the report."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.growth.connection import connected
from benchmarks.growth.model_stand_in import model_stand_in
from benchmarks.growth.session_count import many_sessions
from benchmarks.overhead.failures import MeasurementFailed
from benchmarks.results import Figure
from benchmarks.startup.own_service import own_service
from benchmarks.startup.rounds import Measured, figures

NAME = "startup"
SESSIONS = (0, 1_000)

_PROGRAM = Path(sys.executable).with_name("turnkeeper")
_WORDS = ("--version", "--help")
_BOUND_S = 60


def measure(rounds: int, *, sessions: Sequence[int] = SESSIONS) -> list[Figure]:
    """Measure in so many rounds, with stores of so many sessions, which are made once.

    Raises:
        MeasurementFailed: the service isn't installed, or doesn't start.
    """
    if not _PROGRAM.exists():
        raise MeasurementFailed(f"there is no {_PROGRAM.name} beside {sys.executable}")
    return figures(NAME, asyncio.run(_rounds(rounds, sessions)))


async def _rounds(rounds: int, sessions: Sequence[int]) -> list[list[Measured]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stores = {count: (await many_sessions(folder, count)).store for count in sessions}
        async with model_stand_in(folder) as llama_url:
            measured: list[list[Measured]] = []
            for _ in range(rounds):
                of_words = [one for word in _WORDS for one in _of_word(word)]
                of_stores = [one for count, store in stores.items() for one in await _of_store(store, count, llama_url)]
                measured.append([*of_stores, *of_words])
            return measured


async def _of_store(store: Path, sessions: int, llama_url: str) -> list[Measured]:
    """Measure from the start of the process to its first answer; a client comes when the service says it listens."""
    begun = time.perf_counter()
    async with (
        own_service(store, llama_url=llama_url, program=[str(_PROGRAM)]) as service,
        connected(service.port) as connection,
    ):
        await connection.ask("GET", "/healthz")
        took_s, cpu_s, memory_mib = time.perf_counter() - begun, service.cpu_s(), service.resident_mib()
    conditions = f"{sessions:,} sessions in the store"
    return [
        Measured(measure="start to first answer", unit="s", value=took_s, conditions=conditions),
        Measured(measure="CPU from start to first answer", unit="s", value=cpu_s, conditions=conditions),
        Measured(measure="memory after the start", unit="MiB", value=memory_mib, conditions=conditions),
    ]


def _of_word(word: str) -> list[Measured]:
    before, begun = _cpu_of_children_s(), time.perf_counter()
    subprocess.run([_PROGRAM, word], check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=_BOUND_S)
    took_s = time.perf_counter() - begun
    return [
        Measured(measure=f"turnkeeper {word}", unit="s", value=took_s),
        Measured(measure=f"CPU of turnkeeper {word}", unit="s", value=_cpu_of_children_s() - before),
    ]


def _cpu_of_children_s() -> float:
    # Those that ended and were waited for: here the one in between.
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
