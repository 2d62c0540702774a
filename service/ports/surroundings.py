"""Time and identifiers: the small things that tests must be able to foresee."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from service.core.ids import ReadingId, SessionId, TurnId


class Clock(Protocol):
    """Time."""

    def now(self) -> datetime:
        """Give the time of day, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Give seconds that never go back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let this time pass."""
        ...


class Ids(Protocol):
    """Identifiers."""

    def session(self) -> SessionId:
        """Make a session id, later ones sort behind earlier ones."""
        ...

    def turn(self) -> TurnId:
        """Make a turn id, later ones sort behind earlier ones."""
        ...

    def reading(self) -> ReadingId:
        """Make a reading's id, later ones sort behind earlier ones."""
        ...

    def fence(self) -> str:
        """Draw 16 hex digits at random (P6)."""
        ...

    def fraction(self) -> float:
        """Draw a number from 0 up to, but not including, 1 (the jitter of L7)."""
        ...
