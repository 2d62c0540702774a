"""What a process holds, as the kernel tells it, and what tasks its loop has."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from tests.crashes.service_process import ServiceProcess
from tests.soak.watched_service import MARK

_BOUND_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A process at one moment; `tasks` are the names of its loop's tasks."""

    descriptors: tuple[str, ...]
    threads: int
    resident_mib: float
    tasks: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{len(self.descriptors)} descriptors, {self.threads} threads, {len(self.tasks)} tasks, "
            f"{self.resident_mib:.0f} MiB"
        )


async def facts_of(service: ServiceProcess) -> Facts:
    """Look at the service's process."""
    tasks = await _tasks_of(service)
    return await asyncio.to_thread(_facts, service.pid, tasks)


def resident_mib(pid: int) -> float:
    """Give the memory that a process holds."""
    return int(_status(pid)["VmRSS"].split()[0]) / 1024


def _facts(pid: int, tasks: tuple[str, ...]) -> Facts:
    descriptors: list[str] = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            descriptors.append(os.readlink(entry))
        except FileNotFoundError:
            continue
    return Facts(
        descriptors=tuple(sorted(descriptors)),
        threads=int(_status(pid)["Threads"]),
        resident_mib=resident_mib(pid),
        tasks=tasks,
    )


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


async def _tasks_of(service: ServiceProcess) -> tuple[str, ...]:
    line = asyncio.create_task(service.next_line(MARK))
    # Let it begin to listen.
    await asyncio.sleep(0)
    os.kill(service.pid, signal.SIGUSR1)
    async with asyncio.timeout(_BOUND_S):
        return tuple(json.loads((await line).removeprefix(MARK)))
