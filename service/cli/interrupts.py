"""Ctrl-C while a command waits for something: the first one is a wish, the second one leaves at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptions(wish: Callable[[], object]) -> Generator[None]:
    """Call `wish` at the first Ctrl-C and cancel this task at the next one; outside of the main thread none comes.

    SIGTERM cancels it as well, so that the terminal is left tidy.
    """
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None  # this is a coroutine's work
    wishes = [wish]

    def interrupted(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(wishes.pop() if wishes and number == signal.SIGINT else task.cancel)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, interrupted) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
