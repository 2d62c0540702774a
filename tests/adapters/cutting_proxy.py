"""Stands between a client and a service, and breaks their connections when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress


class CuttingProxy:
    """Passes bytes on while `passes` is set; while `is_closed`, a connection that is made is ended at once."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.is_closed = False
        self.passes = asyncio.Event()
        self.passes.set()
        self.connections = 0
        self.port = 0
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Break all connections."""
        for writer in self._writers:
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.is_closed:
            writer.transport.abort()
            return
        upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", self.target)
        self._writers |= {writer, upstream_writer}
        try:
            await asyncio.gather(self._pass_on(reader, upstream_writer), self._pass_on(upstream_reader, writer))
        finally:
            self._writers -= {writer, upstream_writer}

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await reader.read(64 * 1024):
                await self.passes.wait()
                writer.write(chunk)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def cutting_proxy(target: int) -> AsyncGenerator[CuttingProxy]:
    """Stand before the port `target` of loopback."""
    proxy = CuttingProxy(target)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    async with server:
        yield proxy
        proxy.cut()
