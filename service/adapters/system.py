"""The machine's own clock, its source of identifiers, and what it says of its disk and of open files."""

from __future__ import annotations

import asyncio
import random
import secrets
import shutil
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import uuid_utils

from service.core.ids import ReadingId, SessionId, TurnId


class SystemClock:
    """The `Clock` of a running service."""

    def now(self) -> datetime:
        """Give the time of day, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Give seconds that never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let this time pass."""
        await asyncio.sleep(seconds)


class RandomIds:
    """The `Ids` of a running service.

    A UUIDv7 begins with its time in milliseconds and goes on with a counter, so ids of one process sort
    strictly by creation, also within a millisecond and between threads.
    """

    def session(self) -> SessionId:
        """Make a session id: `ses_` and 32 hex digits."""
        return SessionId(f"ses_{uuid_utils.uuid7().hex}")

    def turn(self) -> TurnId:
        """Make a turn id: `trn_` and 32 hex digits."""
        return TurnId(f"trn_{uuid_utils.uuid7().hex}")

    def reading(self) -> ReadingId:
        """Make a reading's id: `rdg_` and 32 hex digits."""
        return ReadingId(f"rdg_{uuid_utils.uuid7().hex}")

    def fence(self) -> str:
        """Draw 16 hex digits that nobody can foresee (P6)."""
        return secrets.token_hex(8)

    def fraction(self) -> float:
        """Draw a number from 0 up to 1; it spreads retries, and hides nothing."""
        return random.random()


def disk_space(file: str) -> tuple[int, int] | None:
    """Give the bytes that are free on a file's disk, and those that it has; None where the system doesn't tell.

    The file, and folders on the way to it, need not be there yet.
    """
    folder = Path(file)
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return usage.free, usage.total


def open_files_allowed() -> int | None:
    """Give how many files a process that is started from here may have open; None where there is no bound."""
    if sys.platform == "win32":
        return None
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # A process raises its soft bound itself as far as it may; macOS calls its hard one infinite and refuses that.
    if resource.RLIM_INFINITY in (soft, hard):
        return None
    return max(soft, hard)
