"""Time and identifiers that tests can foresee."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from service.core.ids import ReadingId, SessionId, TurnId

START = datetime(2030, 1, 1, tzinfo=UTC)


class SteppingClock:
    """Each look at the time of day is a millisecond later than the one before; monotonic time is set by hand.

    Sleeping lets the time pass at once, or when `may_wake` is set.
    """

    def __init__(self) -> None:
        self._looks = 0
        self.seconds = 1000.0
        self.slept: list[float] = []
        self.asleep = asyncio.Event()
        self.may_wake: asyncio.Event | None = None

    def now(self) -> datetime:
        self._looks += 1
        return START + timedelta(milliseconds=self._looks)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.asleep.set()
        if self.may_wake is not None:
            await self.may_wake.wait()
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


class CountingIds:
    """Ids that count up; fences are drawn from a list first, when one is given."""

    def __init__(self, fences: list[str] | None = None) -> None:
        self._count = 0
        self._fences = fences or []

    def session(self) -> SessionId:
        return SessionId(f"ses_{self._next():06d}")

    def turn(self) -> TurnId:
        return TurnId(f"trn_{self._next():06d}")

    def reading(self) -> ReadingId:
        return ReadingId(f"rdg_{self._next():06d}")

    def fence(self) -> str:
        return self._fences.pop(0) if self._fences else f"{self._next():016x}"

    def fraction(self) -> float:
        return 0.5

    def _next(self) -> int:
        self._count += 1
        return self._count
