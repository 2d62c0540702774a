"""Where a service is killed: the moments of a scenario, counted as they pass, and the one at which it dies."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

WRITE_PLACES = ("before", "inside", "during", "after")
"""Before a write's transaction has changed anything; before its commit; in the middle of the commit; behind it."""


@dataclass(frozen=True, slots=True, order=True)
class KillPoint:
    """The `nth` moment of a kind, counted from 1.

    Kinds are those of the model's and the port's side (`model: piece`), of the client's (`shown: content`), of the
    store's (`write before: user`), and `time`, where `nth` is in milliseconds.
    """

    kind: str
    nth: int

    @property
    def write(self) -> tuple[str, str] | None:
        """The place and the type of record of a write at which the process kills itself."""
        place, _, record_type = self.kind.removeprefix("write ").partition(": ")
        return (place, record_type) if self.kind.startswith("write ") else None

    def __str__(self) -> str:
        return f"{self.nth} ms" if self.kind == "time" else f"{self.kind} {self.nth}"


class Moments:
    """Counts moments, kills at one of them, and lets another wait."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.reached = asyncio.Event()
        self.release = asyncio.Event()
        self._held: KillPoint | None = None
        self._wanted: KillPoint | None = None
        self._kill: Callable[[], Awaitable[None]] | None = None

    def begin(self, kill: Callable[[], Awaitable[None]], wanted: KillPoint | None, held: KillPoint | None) -> None:
        """Count from nothing, and kill at `wanted`.

        What comes to `held` waits there until `release` is set; `reached` is set then.
        """
        self.seen = Counter()
        self.reached, self.release = asyncio.Event(), asyncio.Event()
        self._kill, self._wanted, self._held = kill, wanted, held

    async def passed(self, kind: str) -> None:
        """Count a moment; when this returns from the chosen one, the service is dead."""
        self.seen[kind] += 1
        point = KillPoint(kind, self.seen[kind])
        if point == self._wanted and self._kill is not None:
            await self._kill()
        if point == self._held:
            self.reached.set()
            await self.release.wait()
