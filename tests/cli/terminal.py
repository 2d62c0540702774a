"""The program with a pseudo-terminal as its standard error: what it draws there, and how it takes signals."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tests.cli.whole_program import PATIENCE_S

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """What has been drawn so far, and the process that draws."""

    def __init__(self, process: asyncio.subprocess.Process, master: int) -> None:
        self.process = process
        self.drawn = ""
        self._bytes = b""
        self._master = master
        self._more = asyncio.Event()
        asyncio.get_running_loop().add_reader(master, self._read)

    @property
    def lines(self) -> list[str]:
        """All lines that were ever drawn, without what moves the cursor or colours them."""
        return [line.rstrip() for line in _CONTROL.sub("", self.drawn).replace("\r", "\n").split("\n") if line.strip()]

    def _read(self) -> None:
        try:
            self._bytes += os.read(self._master, 65536)
        except OSError:
            # Nobody holds the other end any more.
            self.close()
        self.drawn = self._bytes.decode(errors="replace")
        self._more.set()

    async def until(self, text: str) -> None:
        """Wait until this was drawn."""
        async with asyncio.timeout(PATIENCE_S):
            while not any(text in line for line in self.lines):
                self._more.clear()
                await self._more.wait()

    def interrupt(self) -> None:
        """Do what the terminal does at Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    async def end(self) -> tuple[int | None, str]:
        """Wait for the end; give the exit code and what went to standard output."""
        async with asyncio.timeout(PATIENCE_S):
            stdout, _ = await self.process.communicate()
        return self.process.returncode, stdout.decode()

    def close(self) -> None:
        """Draw no more."""
        asyncio.get_running_loop().remove_reader(self._master)


@asynccontextmanager
async def on_terminal(*arguments: str, **env: str) -> AsyncGenerator[Terminal]:
    """Run `turnkeeper` with these arguments on a terminal of 80 columns."""
    master, slave = os.openpty()
    given = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", "PYTHONUTF8": "1", **env}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "service", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=slave,
        env={**{name: value for name, value in os.environ.items() if name != "NO_COLOR"}, **given},
    )
    os.close(slave)
    terminal = Terminal(process, master)
    try:
        yield terminal
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        terminal.close()
        os.close(master)
