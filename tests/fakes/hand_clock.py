"""A clock that a test moves by hand: it stands still, and sleepers wake when their time has come."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from tests.fakes.clock import START, SteppingClock


class HandClock(SteppingClock):
    """Time of day and monotonic time move together, by `pass_s` alone."""

    def __init__(self, passed_s: float = 0) -> None:
        super().__init__()
        self._passed_s = passed_s
        self._sleepers: list[tuple[float, asyncio.Event]] = []

    def now(self) -> datetime:
        return START + timedelta(seconds=self._passed_s)

    def monotonic(self) -> float:
        return self.seconds + self._passed_s

    def pass_s(self, seconds: float) -> None:
        """Let so many seconds pass."""
        self._passed_s += seconds
        for until, woken in self._sleepers:
            if until <= self._passed_s:
                woken.set()

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        sleeper = (self._passed_s + seconds, woken)
        self._sleepers.append(sleeper)
        self.asleep.set()
        try:
            await woken.wait()
        finally:
            self._sleepers.remove(sleeper)
        self.slept.append(seconds)
