"""Where `turnkeeper chat` shows things: a terminal with a line of what goes on, or plain lines beside an answer."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

import typer
from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.text import Text

from service.cli.chat_shown import Answer, Doing, Note, Piece, Shown, Tone
from service.cli.words import shown_text

_STYLES = {
    Tone.PLAIN: "",
    Tone.USER: "bold",
    Tone.THOUGHT: "dim italic",
    Tone.TOOL: "cyan",
    Tone.DETAIL: "dim",
    Tone.WARNING: "yellow",
    Tone.ERROR: "red",
}
_CLEAR_LINE = Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2))


class ChatScreen(Protocol):
    """Whoever shows it."""

    def show(self, shown: Shown) -> None:
        """Show one thing."""
        ...

    @contextmanager
    def asking(self) -> Generator[None]:
        """While something is asked: what comes meanwhile is shown afterwards."""
        ...


class LineScreen:
    """Prints the answer alone on standard output; what is wrong, as lines on standard error."""

    def show(self, shown: Shown) -> None:
        """Show one thing; who reads a pipe wants nothing of what goes on."""
        match shown:
            case Answer():
                print_answer(shown.text)
            case Note(aside=False):
                typer.echo(f"turnkeeper: {shown.text}", err=True)
            case _:
                pass

    @contextmanager
    def asking(self) -> Generator[None]:
        """Nothing is asked here."""
        yield


class TerminalScreen:
    """Shows lines and what goes on by `console`; an answer goes to standard output, piece by piece if it `streams`."""

    def __init__(self, console: Console, *, streams: bool) -> None:
        self._console = console
        self._streams = streams
        self._doing = ""
        self._in_text = False
        self._return_to_come = False
        self._asking = False
        self._later: list[Shown] = []

    def show(self, shown: Shown) -> None:
        """Show one thing."""
        if self._asking:
            self._later.append(shown)
            return
        match shown:
            case Note():
                self._end_text()
                self._clear()
                self._console.print(Text(shown.text, _STYLES[shown.tone]), soft_wrap=True)
                self._draw()
            case Doing():
                self._end_text()
                self._clear()
                self._doing = shown.text
                self._draw()
            case Piece():
                self._clear()
                self._doing = ""
                self._write(shown)
            case Answer():
                if not self._streams:
                    self._clear()
                    print_answer(shown.text)

    @contextmanager
    def asking(self) -> Generator[None]:
        """While something is asked: what comes meanwhile is shown afterwards."""
        self.show(Doing(text=""))
        self._asking = True
        try:
            yield
        finally:
            self._asking = False
            later, self._later = self._later, []
            for shown in later:
                self.show(shown)

    def _write(self, piece: Piece) -> None:
        if not piece.is_thought and not self._streams:
            self._doing = "writes the answer"
            self._draw()
            return
        # A line end of two characters may come in two pieces.
        text = ("\r" if self._return_to_come else "") + piece.text
        self._return_to_come = text.endswith("\r")
        text = shown_text(text[:-1] if self._return_to_come else text)
        if piece.is_thought:
            self._console.print(Text(text, _STYLES[Tone.THOUGHT]), end="", soft_wrap=True)
        else:
            _write_out(sys.stdout, text)
        self._in_text = self._in_text if not text else not text.endswith("\n")

    def _end_text(self) -> None:
        self._return_to_come = False
        if self._in_text:
            self._in_text = False
            self._console.print()

    def _clear(self) -> None:
        if self._doing and not self._console.is_dumb_terminal:
            self._console.control(_CLEAR_LINE)

    def _draw(self) -> None:
        if not self._doing or self._console.is_dumb_terminal:
            return
        line = Text(self._doing, _STYLES[Tone.DETAIL], no_wrap=True)
        line.truncate(max(1, self._console.width - 1), overflow="ellipsis")
        self._console.print(line, end="", soft_wrap=True)


def print_answer(text: str) -> None:
    """Print a whole answer on standard output, so that it steers no terminal (K5)."""
    _write_out(sys.stdout, shown_text(text) + "\n")


def _write_out(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()


def forgive_letters(*streams: TextIO) -> None:
    """Have letters that a stream's encoding lacks replaced in place of an error."""
    for stream in streams:
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def notes_stream(*, interactive: bool) -> TextIO | None:
    """Choose the terminal that lines are shown on: never where a pipe's answer goes, None where there is none."""
    if sys.stderr.isatty():
        return sys.stderr
    return sys.stdout if interactive and sys.stdout.isatty() else None


def screen_on(stream: TextIO | None) -> ChatScreen:
    """Give the screen for this terminal, or lines where there is none."""
    if stream is None:
        return LineScreen()
    return TerminalScreen(Console(file=stream, highlight=False), streams=sys.stdout.isatty())
