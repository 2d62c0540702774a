"""Servers of a test: the odd one in some mode, run by the port's own code, and what can be heard of it."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Self

from mcp_types import CallToolResult

from service.mcp_port.config_file import ServerConfig, StdioServer
from service.mcp_port.listed import ServerTools
from service.mcp_port.servers import ServersOf

BOUND_S = 20.0
PROGRAM = Path(__file__).with_name("odd_server.py")


class HandClock:
    """Time that passes when a test says so; whoever sleeps is noted."""

    def __init__(self) -> None:
        self.time = 0.0
        self.slept: list[float] = []
        self.asleep = asyncio.Event()
        self._wake = asyncio.Event()

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.asleep.set()
        await self._wake.wait()

    async def wake(self) -> None:
        """Let whoever sleeps, or is about to, go on."""
        async with asyncio.timeout(BOUND_S):
            await self.asleep.wait()
        self.asleep.clear()
        wake, self._wake = self._wake, asyncio.Event()
        wake.set()


class Lines:
    """Lines that come, and a wait for some of them."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._come = asyncio.Event()

    def add(self, line: str) -> None:
        self.all.append(line)
        self._come.set()

    async def with_words(self, words: str, times: int = 1) -> str:
        """Wait until so many lines hold these words, and give the last of them."""
        async with asyncio.timeout(BOUND_S):
            while len(found := [line for line in self.all if words in line]) < times:
                self._come.clear()
                await self._come.wait()
        return found[-1]


class Notes(Lines):
    """What odd servers tell of themselves, over connections to this port."""

    async def __aenter__(self) -> Self:
        self._readers: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1")
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        this = asyncio.current_task()
        assert this is not None
        self._readers.add(this)
        try:
            while line := await reader.readline():
                self.add(line.decode().strip())
        finally:
            writer.close()


class _Handler(logging.Handler):
    def __init__(self, lines: Lines) -> None:
        super().__init__(logging.INFO)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.add(record.getMessage())


@contextmanager
def heard_log() -> Generator[Lines]:
    """Hear what the port logs."""
    lines, logger = Lines(), logging.getLogger("service.mcp_port")
    handler, before = _Handler(lines), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def odd(mode: str = "well", notes: Notes | None = None, name: str = "odd", **more: Any) -> ServerConfig:
    """The odd server in a mode."""
    args = (str(PROGRAM), mode, *([] if notes is None else [str(notes.port)]))
    env = more.pop("env", {})
    return ServerConfig(name=name, transport=StdioServer(command=sys.executable, args=args, env=env), **more)


@asynccontextmanager
async def running(*configs: ServerConfig, clock: HandClock | None = None) -> AsyncGenerator[ServersOf]:
    """Run servers until the end; all have started, or failed to, when it begins."""
    hand = clock or HandClock()
    async with asyncio.timeout(2 * BOUND_S), ServersOf(configs, sleep=hand.sleep, now=hand.now) as servers:
        await servers.settled(BOUND_S)
        yield servers


def server_of(servers: ServersOf, name: str = "odd") -> ServerTools:
    """Give what is known of one server."""
    return next(server for server in servers.listed() if server.name == name)


async def call(servers: ServersOf, tool: str, *, server: str = "odd", timeout_s: float = 10, **arguments: Any) -> str:
    """Call a tool and give the text of its result."""
    return text_of(await servers.call(server, tool, arguments, timeout_s=timeout_s, traceparent=None))


def text_of(result: CallToolResult) -> str:
    """Give the text of a result."""
    return "".join(getattr(block, "text", "") for block in result.content)
