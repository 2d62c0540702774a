"""A server that answers whatever it is asked with the same bytes, and keeps what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

# The first byte of a client that wants TLS, which nobody here speaks.
_TLS = b"\x16"


class Server:
    """Answers every request with the same bytes, and keeps their heads."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.heads: list[str] = []
        self.connections = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            begins = await reader.readexactly(1)
            if begins == _TLS:
                raise ConnectionError
            head = (begins + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            self.heads.append(head)
            length = head.partition("content-length: ")[2].partition("\r\n")[0]
            await reader.readexactly(int(length or "0"))
            writer.write(self.answer)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def serving(answer: bytes) -> AsyncGenerator[Server]:
    server = Server(answer)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with listening:
        yield server


def answer(status: int, *headers: bytes, body: bytes = b"{}") -> bytes:
    lines = [b"HTTP/1.1 %d Status" % status, b"Content-Type: application/json", b"Content-Length: %d" % len(body)]
    return b"\r\n".join([*lines, *headers, b"Connection: close", b"", b""]) + body
