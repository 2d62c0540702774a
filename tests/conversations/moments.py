"""Fakes that count the moments at which something can strike, and strike when the plan says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime, timedelta
from itertools import cycle
from typing import Any

from service.adapters.log_memory import MemoryLog
from service.core.errors import StoreFailure
from service.core.tool_port import ToolAnswer, ToolRequest
from service.ports import StoredRecord
from tests.conversations.plan import Moment, Strike
from tests.conversations.world import LISTED, TOOLS
from tests.fakes.clock import START, SteppingClock
from tests.fakes.tool_port import TablePort

CarryOut = Callable[[Strike], Coroutine[None, None, None]]


class Moments:
    """Counts the moments of a turn; a strike is carried out by a task of its own, while the struck one waits a bit."""

    def __init__(self, carry_out: CarryOut) -> None:
        self._carry_out = carry_out
        self._plan: list[Strike] = []
        self._passed = 0
        self._strikes: set[asyncio.Task[None]] = set()

    def plan(self, strikes: Sequence[Strike]) -> None:
        """Begin to count anew, for these strikes, one behind the other."""
        self._plan = list(strikes)
        self._passed = 0

    async def reach(self, moment: Moment) -> None:
        """Count a moment."""
        if not self._plan or self._plan[0].at is not moment:
            return
        if self._passed < self._plan[0].after:
            self._passed += 1
            return
        strike = self._plan.pop(0)
        self._passed = 0
        self._strikes.add(asyncio.create_task(self._carry_out(strike)))
        for _ in range(strike.lag):
            await asyncio.sleep(0)

    async def settled(self) -> bool:
        """Wait for the strikes that are under way; False when there was none."""
        strikes, self._strikes = self._strikes, set[asyncio.Task[None]]()
        await asyncio.gather(*strikes)
        return bool(strikes)


class TurnClock(SteppingClock):
    """Short pauses pass at once; a long one is the bound of a turn, and ends when so much time has passed."""

    seconds: float
    _LONG_S = 10.0

    def __init__(self, moments: Moments) -> None:
        super().__init__()
        self._moments = moments
        self._began = self.seconds
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        self._looks += 1
        return START + timedelta(seconds=self.seconds - self._began, milliseconds=self._looks)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.seconds += seconds
        for due, sleeper in self._sleepers:
            if due <= self.seconds and not sleeper.done():
                sleeper.set_result(None)
        self._sleepers = [entry for entry in self._sleepers if not entry[1].done()]

    async def sleep(self, seconds: float) -> None:
        await self._moments.reach(Moment.SLEEPING)
        if seconds < self._LONG_S:
            self.advance(seconds)
            await asyncio.sleep(0)
            return
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.seconds + seconds, sleeper))
        await sleeper


class ProcessLog(MemoryLog):
    """The store as one process of the service has it open; `after` is the process before, whose store it takes over."""

    def __init__(self, moments: Moments, after: ProcessLog | None = None) -> None:
        super().__init__()
        self._moments = moments
        self.failures = 0
        self.refused = 0
        if after is not None:
            vars(self).update(vars(after))
        self.gone = False

    async def create_session(self, *what: Any, **how: Any) -> Sequence[StoredRecord]:
        # As with a writer of its own: who asked for it may be gone, it is carried out all the same.
        writing = asyncio.ensure_future(self._create(*what, **how))
        writing.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(writing)

    async def _create(self, *what: Any, **how: Any) -> Sequence[StoredRecord]:
        await self._moments.reach(Moment.CREATING)
        self._may_fail()
        stored = await super().create_session(*what, **how)
        await self._moments.reach(Moment.CREATED)
        return stored

    async def append(self, *what: Any, **how: Any) -> Sequence[StoredRecord]:
        await self._moments.reach(Moment.WRITING)
        self._may_fail()
        stored = await super().append(*what, **how)
        await self._moments.reach(Moment.WRITTEN)
        return stored

    def _may_fail(self) -> None:
        if self.gone:
            raise StoreFailure("this process is gone")
        if self.failures:
            self.failures -= 1
            self.refused += 1
            raise StoreFailure("the disk is full")


class PacedPort(TablePort):
    """Tools of the world, each taking a few rounds of the loop."""

    def __init__(self, moments: Moments, pace: Sequence[int]) -> None:
        super().__init__(*LISTED, tools=TOOLS)
        self._moments = moments
        self._pace = cycle(pace or (0,))

    async def call(self, request: ToolRequest) -> ToolAnswer:
        await self._moments.reach(Moment.CALLING)
        for _ in range(next(self._pace)):
            await asyncio.sleep(0)
        answer = await super().call(request)
        await self._moments.reach(Moment.RUNNING)
        return answer
