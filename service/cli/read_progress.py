"""How the progress of a reading is told: drawn on a terminal, a line now and then elsewhere, or not at all."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

import typer

from service.cli.read_board import ReadingBoard
from service.cli.read_words import progress_in_words

LINE_EVERY_S = 30.0
"""Without a terminal: such lines stand in files, where each of them stays."""


class Progress(Protocol):
    """Whoever tells it; entered while the reading is followed."""

    async def __aenter__(self) -> Self:
        """Begin."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End; standard error is free for others again."""
        ...

    def changed(self) -> None:
        """Take note that the board has changed."""
        ...

    def say(self, line: str) -> None:
        """Write a line."""
        ...


class Lines:
    """Writes a line when the chunks are known, and then one now and then; none without `told`."""

    def __init__(self, board: ReadingBoard, *, told: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._board = board
        self._told = told
        self._clock = clock
        self._last: float | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def changed(self) -> None:
        """Write a line if it is time for one."""
        if not self._told or not self._board.rows or self._board.ended is not None:
            return
        now = self._clock()
        if self._last is None or now - self._last >= LINE_EVERY_S:
            self._last = now
            self.say(f"turnkeeper: {progress_in_words(self._board)}")

    def say(self, line: str) -> None:
        """Write a line."""
        typer.echo(line, err=True)


def progress_of(board: ReadingBoard, *, told: bool) -> Progress:
    """Choose by where standard error goes."""
    if told and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        # Imported here, because it takes a while.
        from rich.console import Console

        from service.cli.read_bar import Bar

        return Bar(board, Console(stderr=True, highlight=False))
    return Lines(board, told=told)
