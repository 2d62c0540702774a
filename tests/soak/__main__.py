"""`python -m tests.soak`: many clients for half an hour, while everything is killed now and then."""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx

from tests.crashes.service_process import ROOT, ServiceProcess
from tests.soak.actor import Actor, World
from tests.soak.client import SoakClient
from tests.soak.process_facts import Facts, facts_of, resident_mib
from tests.soak.restartable_fakes import SoakLlama, SoakPort
from tests.soak.trouble import Trouble

SHARE_WITH_KILLS = 0.6
"""Of the time; in the rest the service lives on, and must not gather what it doesn't need."""

WARM_UP_S = 10
QUIET_S = 30
"""How long connections and tasks that are no longer needed may take to go."""

MORE_MEMORY_MIB = 100
"""What the service may hold more at the end than after its warm-up: 256 idle sessions are kept in memory."""

TROUBLE_EVERY_S = 4.0
MEMORY_EVERY_S = 30.0


class Soak:
    """One run."""

    def __init__(self, world: World, sessions: int, seed: int) -> None:
        self._world = world
        self._chance = random.Random(seed)
        self._sessions = sessions
        self.memory: list[float] = []

    async def run(self, minutes: float) -> None:
        """Kill everything, then the others only while one life of the service is watched."""
        with_kills_s = minutes * 60 * SHARE_WITH_KILLS
        await self._world.service.start()
        await self._phase(with_kills_s, trouble=True, kills_service=True)
        await self._world.service.kill()
        await self._world.service.start()
        await self._phase(WARM_UP_S, trouble=False, kills_service=False)
        before = await facts_of(self._world.service)
        _say(f"after the warm-up: {before}")
        await self._phase(minutes * 60 - with_kills_s, trouble=True, kills_service=False)
        await self._compare(before)

    async def _phase(self, seconds: float, *, trouble: bool, kills_service: bool) -> None:
        world, began = self._world, time.monotonic()
        world.over.clear()
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=self._sessions)
        address, timeout = world.service.address, httpx.Timeout(60)
        async with (
            httpx.AsyncClient(base_url=address, timeout=timeout, limits=limits, trust_env=False, verify=False) as http,
            asyncio.TaskGroup() as group,
        ):
            clients = [SoakClient(http, random.Random(self._chance.random())) for _ in range(self._sessions)]
            for number, client in enumerate(clients):
                chance = random.Random(self._chance.random())
                group.create_task(Actor(number, world, client, chance).run(), name=f"client {number}")
            if trouble:
                chance = random.Random(self._chance.random())
                maker = Trouble(world, chance, every_s=TROUBLE_EVERY_S, kills_service=kills_service)
                group.create_task(maker.run(), name="trouble")
            group.create_task(self._watch_memory(), name="memory")
            await asyncio.sleep(seconds)
            world.over.set()
        world.counts["connections that broke"] += sum(client.broken for client in clients)
        _say(f"{seconds:.0f} s, and {time.monotonic() - began - seconds:.0f} s until all turns were over")

    async def _watch_memory(self) -> None:
        while not self._world.over.is_set():
            try:
                async with asyncio.timeout(MEMORY_EVERY_S):
                    await self._world.over.wait()
            except TimeoutError:
                # Between a kill and the next start there is no process to look at, or one without memory.
                with suppress(FileNotFoundError, ProcessLookupError, KeyError):
                    self.memory.append(await asyncio.to_thread(resident_mib, self._world.service.pid))

    async def _compare(self, before: Facts) -> None:
        """Wait until the service holds no more than before, and say what it holds too much."""
        after = await facts_of(self._world.service)
        end = time.monotonic() + QUIET_S
        while time.monotonic() < end and _left_over(before, after):
            await asyncio.sleep(1)
            after = await facts_of(self._world.service)
        _say(f"at the end:        {after}")
        for what in _left_over(before, after):
            self._world.find(what)
        if after.resident_mib > before.resident_mib + MORE_MEMORY_MIB:
            self._world.find(f"memory grew from {before.resident_mib:.0f} to {after.resident_mib:.0f} MiB")


def _left_over(before: Facts, after: Facts) -> list[str]:
    left: list[str] = []
    if len(after.descriptors) > len(before.descriptors):
        left.append(f"descriptors are left over: before {before.descriptors}, after {after.descriptors}")
    if after.threads > before.threads:
        left.append(f"threads are left over: {before.threads} before, {after.threads} after")
    if len(after.tasks) > len(before.tasks):
        left.append(f"tasks are left over: before {before.tasks}, after {after.tasks}")
    return left


@asynccontextmanager
async def _world_in(folder: Path, seed: int) -> AsyncGenerator[World]:
    async with SoakLlama(seed) as llama, SoakPort(seed) as port:
        service = ServiceProcess(
            folder,
            program="tests.soak.watched_service",
            llama_url=llama.url,
            tool_port_url=port.url,
            poll_ms="200",
            # Half an hour makes more than anybody is allowed by default.
            sessions_per_owner="0",
            drain_s="1",
        )
        async with service.with_nursery():
            yield World(service, llama, port)


async def _soak(minutes: float, sessions: int, seed: int) -> World:
    with tempfile.TemporaryDirectory() as folder:
        async with _world_in(Path(folder), seed) as world:
            soak = Soak(world, sessions, seed)
            await soak.run(minutes)
            _say(f"memory in MiB, every {MEMORY_EVERY_S:.0f} s: {' '.join(f'{mib:.0f}' for mib in soak.memory)}")
        world.defects += [*world.llama.faults, *world.llama.refusals]
        world.defects += await asyncio.to_thread(_verified, world.service.database_url)
    return world


def _verified(database_url: str) -> list[str]:
    command = [sys.executable, "-m", "service", "verify", "--database-url", database_url]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    _say(ended.stderr.strip().splitlines()[-1])
    return [] if ended.returncode == 0 else [f"turnkeeper verify: {ended.stderr}"]


def main() -> int:
    """Run what the command line asks for; 1 when something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("minutes", nargs="?", type=float, default=30)
    parser.add_argument("--sessions", type=int, default=64, help="how many sessions at the same time")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what the trouble is drawn from")
    asked = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("TURNKEEPER_")]:
        del os.environ[name]
    _say(f"{asked.sessions} sessions, {asked.minutes:g} minutes, seed {asked.seed}")
    world = asyncio.run(_soak(asked.minutes, asked.sessions, asked.seed))
    for what, times in sorted({**world.counts, "requests to the model": world.llama.count}.items()):
        _say(f"{times:>8} {what}")
    for defect in world.defects[:20]:
        _say(f"- {defect}")
    _say(f"{len(world.defects)} defects" if world.defects else "all is as it should be")
    return 1 if world.defects else 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
