"""The progress of a reading on a terminal: a cell for each chunk, which gets its mark when the gate falls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from math import ceil
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.table import Table
from rich.text import Text

from service.cli.read_board import Mark, ReadingBoard, Row
from service.cli.read_words import progress_in_words
from service.cli.words import counted, first_line
from service.core.visible import visible

_EVERY_S = 0.125
_NAME_SHOWN = 24
_LEAST_CELLS = 10
# The lines below the rows, and one for the cursor.
_LINES_BELOW = 5
# Lines that the cells of one document may take, by the number of documents that are shown.
_LINES_OF_CELLS = {1: 4, 2: 2, 3: 2}

_WORDS = {
    Mark.USED: "used",
    Mark.RETAINED: "of no use",
    Mark.BUDGET_EXCEEDED: "too long",
    Mark.PARSE_FAILED: "not parsed",
    Mark.EXIT: "exit",
    Mark.READING: "reading",
    Mark.OPEN: "not read",
}
_SIGNS = dict(zip(_WORDS, "■·!x◆▸□", strict=True))
_ASCII_SIGNS = dict(zip(_WORDS, "#.!xE>-", strict=True))
_STYLES = {
    Mark.USED: "green",
    Mark.RETAINED: "dim",
    Mark.BUDGET_EXCEEDED: "yellow",
    Mark.PARSE_FAILED: "red",
    Mark.EXIT: "cyan",
    Mark.READING: "bold",
    Mark.OPEN: "dim",
}


class Picture:
    """A board as rich draws it, as large as the terminal is at that moment."""

    def __init__(self, board: ReadingBoard) -> None:
        self._board = board

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it."""
        is_ascii = options.ascii_only
        signs = _ASCII_SIGNS if is_ascii else _SIGNS
        rows = shown_rows(list(self._board.rows.values()), console.height - _LINES_BELOW)
        grid, marks, per_cell = self._grid(rows, options, signs)
        if rows:
            yield grid
        if hidden := len(self._board.rows) - len(rows):
            yield _line(f"and {counted(hidden, 'more document')}", is_ascii=is_ascii)
        if marks:
            yield _legend(marks, signs, per_cell, is_ascii=is_ascii)
        yield _line(progress_in_words(self._board), is_ascii=is_ascii)
        if self._board.memory is not None and self._board.ended is None:
            yield _line(f"memory: {first_line(self._board.memory.text)}", "italic", is_ascii=is_ascii)

    def _grid(
        self, rows: Sequence[Row], options: ConsoleOptions, signs: dict[Mark, str]
    ) -> tuple[Table, set[Mark], int]:
        names = [_name(row, is_ascii=options.ascii_only) for row in rows]
        counts = [f"{row.seen} of {len(row.marks)}" for row in rows]
        taken = max(map(len, counts), default=0) + max((name.cell_len for name in names), default=0) + 4
        line_cells = max(_LEAST_CELLS, options.max_width - taken)
        most = line_cells * _LINES_OF_CELLS.get(len(rows), 1)
        grid, shown, per_cell = Table.grid(padding=(0, 2, 0, 0)), set[Mark](), 1
        for name, row, count in zip(names, rows, counts, strict=True):
            cells = scaled(row.marks, most, is_over=self._board.ended is not None)
            shown.update(cells)
            per_cell = max(per_cell, ceil(len(row.marks) / most))
            grid.add_row(name, _cells(cells, line_cells, signs), Text(count, "dim", no_wrap=True))
        return grid, shown, per_cell


def shown_rows(rows: Sequence[Row], most: int) -> list[Row]:
    """Choose the rows that there is room for, in their order: those in work first, then those that are to come."""
    by_interest = sorted(range(len(rows)), key=lambda at: (_interest(rows[at]), at))
    return [rows[at] for at in sorted(by_interest[: max(most, 1)])]


def _interest(row: Row) -> int:
    if row.is_being_read:
        return 0
    return 1 if row.seen < len(row.marks) else 2


def scaled(marks: Sequence[Mark], most: int, *, is_over: bool) -> list[Mark]:
    """Give at most so many cells: one stands for several chunks, and shows what matters most of them."""
    cells = min(len(marks), most)
    return [
        _together(marks[at * len(marks) // cells : (at + 1) * len(marks) // cells], is_over=is_over)
        for at in range(cells)
    ]


def _together(marks: Sequence[Mark], *, is_over: bool) -> Mark:
    most = max(marks)
    if most is not Mark.RETAINED or is_over or min(marks) is Mark.RETAINED:
        return most
    # Some of them are still to be read.
    return Mark.READING


def _cells(cells: Sequence[Mark], width: int, signs: dict[Mark, str]) -> Text:
    text = Text(no_wrap=True)
    for at, mark in enumerate(cells):
        if at and at % width == 0:
            text.append("\n")
        text.append(signs[mark], _STYLES[mark])
    return text


def _legend(marks: set[Mark], signs: dict[Mark, str], per_cell: int, *, is_ascii: bool) -> Text:
    text = _line("", is_ascii=is_ascii)
    for mark, words in _WORDS.items():
        if mark in marks:
            text.append(signs[mark], _STYLES[mark])
            text.append(f" {words}  ", "dim")
    if per_cell > 1:
        text.append(f"(up to {per_cell} chunks each)", "dim")
    return text


def _name(row: Row, *, is_ascii: bool) -> Text:
    name = _line(visible(row.name, 200), is_ascii=is_ascii)
    name.truncate(_NAME_SHOWN)
    return name


def _line(text: str, style: str = "", *, is_ascii: bool) -> Text:
    """Give a line that is cut where the terminal ends, and made of letters that the terminal has."""
    if is_ascii:
        return Text(text.replace("·", "|").encode("ascii", "replace").decode(), style, no_wrap=True, overflow="crop")
    return Text(text, style, no_wrap=True, overflow="ellipsis")


class Bar:
    """Draws a board again and again while it is entered, and leaves the last picture on the screen."""

    def __init__(self, board: ReadingBoard, console: Console) -> None:
        self._live = Live(
            Picture(board),
            console=console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        self._drawing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._live.start()
        self._drawing = asyncio.create_task(self._draw(), name="draw the progress")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawing is not None:
            self._drawing.cancel()
            with suppress(asyncio.CancelledError):
                await self._drawing
        self._live.refresh()
        self._live.stop()

    def changed(self) -> None:
        """Do nothing at once: it is drawn some times a second anyway."""

    def say(self, line: str) -> None:
        """Write a line above the picture."""
        self._live.console.print(Text(line), soft_wrap=True)

    async def _draw(self) -> None:
        while True:
            self._live.refresh()
            await asyncio.sleep(_EVERY_S)
