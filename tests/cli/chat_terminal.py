"""`turnkeeper chat` on a pseudo-terminal that is its controlling one: what is typed, and what stands there."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import signal
import struct
import sys
import termios
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tests.cli.whole_program import PATIENCE_S

_CONTROL = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[=>])")
# A line editor wants pasted text to be told apart; that comes with each prompt.
_PROMPT = "\x1b[?2004h"
CTRL_C, CTRL_D = "\x03", "\x04"


class ChatTerminal:
    """What has been written so far, of which `until` has looked at the first part."""

    def __init__(self, process: asyncio.subprocess.Process, master: int) -> None:
        self.process = process
        self._bytes = b""
        self._looked_at = 0
        self._prompts = 0
        self._master = master
        self._more = asyncio.Event()
        asyncio.get_running_loop().add_reader(master, self._read)

    @property
    def raw(self) -> str:
        """All that was written, with what moves the cursor or colours it."""
        return self._bytes.decode(errors="replace")

    @property
    def text(self) -> str:
        """All that was written, without that."""
        return _CONTROL.sub("", self.raw)

    def _read(self) -> None:
        try:
            self._bytes += os.read(self._master, 65536)
        except OSError:
            # Nobody holds the other end any more.
            self.close()
        self._more.set()

    async def until(self, *texts: str) -> None:
        """Wait until these were written, one behind the other, behind what was waited for before."""
        for text in texts:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    while (at := self.text.find(text, self._looked_at)) < 0:
                        self._more.clear()
                        await self._more.wait()
            except TimeoutError as error:
                raise AssertionError(f"{text!r} does not come behind {self.text[self._looked_at :]!r}") from error
            self._looked_at = at + len(text)

    async def prompted(self) -> None:
        """Wait until something can be typed, once more than before."""
        self._prompts += 1
        async with asyncio.timeout(PATIENCE_S):
            while self.raw.count(_PROMPT) < self._prompts:
                self._more.clear()
                await self._more.wait()

    def type(self, keys: str) -> None:
        """Press these keys."""
        os.write(self._master, keys.encode())

    async def say(self, line: str) -> None:
        """Type a line when something is asked."""
        await self.prompted()
        self.type(f"{line}\r")

    def interrupt(self) -> None:
        """Send SIGINT, as Ctrl-C does while the terminal is not read key by key."""
        self.process.send_signal(signal.SIGINT)

    async def end(self) -> int | None:
        """Wait for the end; give the exit code."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.process.wait()

    def close(self) -> None:
        """Read no more."""
        asyncio.get_running_loop().remove_reader(self._master)


@asynccontextmanager
async def chat_on_terminal(url: str, *arguments: str, **env: str) -> AsyncGenerator[ChatTerminal]:
    """Run it against the service at this address, on a terminal of 100 columns."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    # Nobody here answers where the cursor is.
    given = {"TERM": "xterm-256color", "PYTHONUTF8": "1", "PROMPT_TOOLKIT_NO_CPR": "1", **env}
    hidden = ("NO_COLOR", "COLUMNS", "LINES", "VISUAL", "EDITOR")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "service", "chat", "--url", url, *arguments),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**{name: value for name, value in os.environ.items() if name not in hidden}, **given},
        start_new_session=True,
    )
    os.close(slave)
    terminal = ChatTerminal(process, master)
    try:
        yield terminal
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        terminal.close()
        os.close(master)
