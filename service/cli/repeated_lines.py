"""Keeps a trouble that goes on from filling the disk with its lines."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

import structlog
from structlog.typing import EventDict, WrappedLogger

LINES_A_MINUTE = 20
"""Of one kind, an event of ours or a library's logger."""

EACH_ONCE = frozenset({"turn.ended", "reading.ended"})
"""Events that are written whatever their number: one for each turn, and what was paid for is in them."""

_MINUTE_S = 60.0


class RepeatedLines:
    """Lets so many lines of a kind through in each minute; the first of a later one tells how many were left out."""

    def __init__(self, most: int = LINES_A_MINUTE, now: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._now = now
        # Since when, how many were let through, and how many were left out.
        self._kinds: dict[str, tuple[float, int, int]] = {}

    def admit(self, kind: str) -> int | None:
        """Give how many lines of this kind were left out before this one; None when this one is, too."""
        now = self._now()
        since, written, left_out = self._kinds.get(kind, (now, 0, 0))
        if now - since >= _MINUTE_S:
            self._kinds[kind] = now, 1, 0
            return left_out
        if written == self._most:
            self._kinds[kind] = since, written, left_out + 1
            return None
        self._kinds[kind] = since, written + 1, 0
        return 0

    def __call__(self, logger: WrappedLogger, method: str, line: EventDict) -> EventDict:
        """Drop a line of ours, or hand it on, as a processor of structlog's."""
        if line["event"] in EACH_ONCE:
            return line
        left_out = self.admit(str(line["event"]))
        if left_out is None:
            raise structlog.DropEvent
        return {**line, "left_out_before": left_out} if left_out else line

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a library's line may be written, as a filter of a handler."""
        return self.admit(record.name) is not None
