"""What goes wrong during the soak: programs are killed and come back, at random moments."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable

from tests.soak.actor import World
from tests.soak.restartable_fakes import RestartableHttp

_LONGEST_DOWN_S = 3.0


class Trouble:
    """Makes trouble on average once in `every_s` seconds; `kills_service` lets the service itself be killed too."""

    def __init__(self, world: World, chance: random.Random, *, every_s: float, kills_service: bool) -> None:
        self._world = world
        self._chance = chance
        self._every_s = every_s
        self._kinds: list[tuple[str, Callable[[], Awaitable[None]]]] = [
            ("kills of the model server", self._kill_model),
            ("kills of the tool port", self._kill_port),
        ]
        if kills_service:
            self._kinds += [
                ("kills of the service", self._kill_service),
                ("kills of the service", self._kill_service),
                ("stops of the service", self._stop_service),
            ]

    async def run(self) -> None:
        """Go on until it is over; at the end everything runs."""
        while not self._world.over.is_set():
            try:
                async with asyncio.timeout(self._chance.expovariate(1 / self._every_s)):
                    await self._world.over.wait()
            except TimeoutError:
                name, kind = self._chance.choice(self._kinds)
                self._world.counts[name] += 1
                await kind()

    async def _kill_model(self) -> None:
        await self._take_down(self._world.llama.program)

    async def _kill_port(self) -> None:
        await self._take_down(self._world.port.program)

    async def _take_down(self, program: RestartableHttp) -> None:
        await program.kill()
        await asyncio.sleep(self._chance.random() * _LONGEST_DOWN_S)
        await program.revive()

    async def _kill_service(self) -> None:
        await self._world.service.kill()
        await self._world.service.start()

    async def _stop_service(self) -> None:
        await self._world.service.kill(signal.SIGTERM)
        await self._world.service.start()
