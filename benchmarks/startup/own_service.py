"""A service as a process of its own, and what the kernel says that it took. Above: the benchmarks. Below: nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.overhead.failures import MeasurementFailed

HOST = "127.0.0.1"
ROOT = Path(__file__).parents[2]
TETHERED = (sys.executable, "-m", "service.cli.demo.tether", "service")
"""Runs the service so that it ends with the process that started it."""

_START_S = 60
_END_S = 20
_READY = b", Ctrl-C to stop"
_PREFIX = "TURNKEEPER_"
# The bounds are at work, and let through what is measured.
_ROOM = {"streams_at_once": "4096", "sessions_per_owner": "1000000", "max_connections": "4096"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnService:
    """A service that takes requests at `port` of this machine."""

    pid: int
    port: int

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{HOST}:{self.port}"

    def cpu_s(self) -> float:
        """Give the CPU time that it has taken so far, in seconds."""
        return cpu_s(self.pid)

    def resident_mib(self) -> float:
        """Give the memory that it holds."""
        lines = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def cpu_s(pid: int) -> float:
    """Give the CPU time of all threads of a process, those that ended among them, in seconds."""
    # The process's own clock, as clock_getcpuclockid(3) makes its id: to the nanosecond, where /proc/PID/stat counts
    # hundredths and the schedstat of its threads forgets those that have ended.
    return time.clock_gettime((~pid << 3) | 2)


@asynccontextmanager
async def own_service(
    store: Path, *, llama_url: str, program: Sequence[str] = TETHERED, **settings: str
) -> AsyncGenerator[OwnService]:
    """Run `serve` on a store at a free port, in a process group of its own; at the end it is told to stop.

    Raises:
        MeasurementFailed: it ended, or said nothing in time.
    """
    own = {"llama_url": llama_url, "database_url": f"sqlite:///{store.as_posix()}", "drain_s": "1"}
    settings = {**own, **_ROOM, **settings}
    # Settings of whoever measures are not those of what is measured.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_PREFIX)}
    process = await asyncio.create_subprocess_exec(
        *(*program, "serve", "--host", HOST, "--port", "0"),
        cwd=ROOT,
        env={**inherited, **{f"{_PREFIX}{name.upper()}": value for name, value in settings.items()}},
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
        process_group=0,
    )
    try:
        port = await _port_of(process)
        # What it says further is read and dropped: a full pipe would hold it up.
        reading = asyncio.create_task(_read_on(process), name="what the service says")
        try:
            yield OwnService(pid=process.pid, port=port)
        finally:
            reading.cancel()
    finally:
        await end(process)


async def end(process: Process) -> None:
    """End a process that leads a group, and the group: asked first, then by force."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_S):
                    await process.wait()


async def _port_of(process: Process) -> int:
    assert process.stderr is not None  # PIPE was asked for
    said: list[str] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(_START_S):
            while line := await process.stderr.readline():
                said.append(line.decode(errors="replace"))
                if _READY in line:
                    return int(line.partition(_READY)[0].rpartition(b":")[2])
    raise MeasurementFailed(f"the service did not start: {''.join(said[-10:])}")


async def _read_on(process: Process) -> None:
    assert process.stderr is not None  # PIPE was asked for
    while await process.stderr.read(1 << 16):
        pass
