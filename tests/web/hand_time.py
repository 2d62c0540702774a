"""The time by which the rate of requests is counted, moved by a test."""

from __future__ import annotations

import pytest
from limits.aio import strategies
from limits.aio.storage import memory

from service.web import request_rate

# The beginning of a minute, as the library divides time.
MINUTE = 30_000_000 * 60.0


class HandTime:
    """The module `time` as the library and ours ask it."""

    def __init__(self) -> None:
        self.now = MINUTE

    def time(self) -> float:
        return self.now


def stop_time(monkeypatch: pytest.MonkeyPatch) -> HandTime:
    """Let the time of rates stand still until the test moves it."""
    by_hand = HandTime()
    for asking in (memory, strategies, request_rate):
        monkeypatch.setattr(asking, "time", by_hand)
    return by_hand
