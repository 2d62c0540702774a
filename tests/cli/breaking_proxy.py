"""Stands between a client and a service, and breaks the connection in the middle of what it passes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress

from tests.adapters.cutting_proxy import CuttingProxy


class BreakingProxy(CuttingProxy):
    """Breaks all connections in front of the first of its marks, then of the next one, and passes on all the rest."""

    def __init__(self, target: int, marks: Iterable[bytes]) -> None:
        super().__init__(target)
        self.marks = list(marks)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen = b""
        with suppress(OSError):
            while chunk := await reader.read(64 * 1024):
                before = len(seen)
                seen += chunk
                if self.marks and self.marks[0] in seen:
                    mark = self.marks.pop(0)
                    writer.write(chunk[: max(0, seen.index(mark) - before)])
                    await writer.drain()
                    self.cut()
                    return
                writer.write(chunk)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def breaking_proxy(target: int, *marks: bytes) -> AsyncGenerator[BreakingProxy]:
    """Stand before the port `target` of loopback."""
    proxy = BreakingProxy(target, marks)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    async with server:
        yield proxy
        proxy.cut()
