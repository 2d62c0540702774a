"""What a start tells of the parts that are missing: a line for each, and one when it is there.

It ends when nothing is missing. Later troubles are told by the turns that meet them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from service.ports import Clock
from service.turns.readiness import Check

LONGEST_PAUSE_S = 60.0
"""Between two looks at what stays away: a tool port that answers each with an error may log each."""

LINES_OF_ONE_PART = 4
"""What is told of one part while it is missing: a text that has a time in it would be another each time."""

_MISSING = {
    "store": "the store does not work, and requests are refused",
    "llama_server": "llama-server isn't ready, and turns wait for it",
    "tool_port": "the tool port (TURNKEEPER_TOOL_PORT_URL) isn't ready, and new sessions with tools are refused",
}
_THERE = {"store": "the store works", "llama_server": "llama-server is ready", "tool_port": "the tool port is ready"}


class Checks(Protocol):
    """Asks each part that a turn needs."""

    async def check(self) -> Sequence[Check]:
        """Ask all parts now."""
        ...


async def missing_parts(readiness: Checks, clock: Clock, *, pause_s: float) -> AsyncIterator[str]:
    """Ask all parts again and again until each was there in the same look; give what a person should read.

    `pause_s` is the time to the second look, in seconds; it doubles from look to look, up to `LONGEST_PAUSE_S`.
    """
    told: dict[str, list[str]] = {}
    while True:
        checks = await readiness.check()
        for check in checks:
            lines = told.setdefault(check.name, [])
            if check.ok and lines:
                yield f"{_THERE[check.name]}: {check.message}"
                lines.clear()
            elif not check.ok and check.message not in lines and len(lines) < LINES_OF_ONE_PART:
                yield f"{_MISSING[check.name]}: {check.message}"
                lines.append(check.message)
        if all(check.ok for check in checks):
            return
        await clock.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
