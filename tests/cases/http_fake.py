"""The HTTP of the fake servers: a connection for each request, and a client that leaves is seen."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from service.core.json_types import JsonValue


class Exchange:
    """One request, and the way to answer it."""

    def __init__(self, method: str, path: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter):
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
        self._writer = writer

    async def answer(self, value: JsonValue | bytes, status: int = 200) -> None:
        """Send a whole answer; bytes go as they are."""
        content = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
        head = f"HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        await self.raw(head.encode() + b"Connection: close\r\n\r\n" + content)

    async def begin_stream(self) -> None:
        """Send the head of an event stream, as llama-server does."""
        await self.raw(
            b"HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nX-Accel-Buffering: no\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )

    async def chunk(self, data: bytes) -> None:
        """Send one chunk of a stream; an empty one ends it."""
        await self.raw(b"%x\r\n%b\r\n" % (len(data), data))

    async def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    def reset(self) -> None:
        """Break the connection off without an end."""
        self._writer.transport.abort()


Handler = Callable[[Exchange], Awaitable[None]]
"""Answers one request; it is cancelled when the client leaves."""


class HttpFake:
    """A server on a port of loopback: a free one, or the one that is set before it begins."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.port = 0
        self._connections: set[asyncio.Task[None]] = set()
        self._handling: set[asyncio.Future[None]] = set()
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, backlog=512)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for handling in self._handling:
            handling.cancel()
        await asyncio.gather(*self._connections)
        await self._server.wait_closed()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer), name="fake connection")
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            exchange = await _read(reader, writer)
            handling = asyncio.ensure_future(self._handler(exchange))
            self._handling.add(handling)
            leaving = asyncio.ensure_future(_see_leaving(reader))
            await asyncio.wait({handling, leaving}, return_when=asyncio.FIRST_COMPLETED)
            self._handling.discard(handling)
            handling.cancel()
            leaving.cancel()
            for ended in await asyncio.gather(handling, leaving, return_exceptions=True):
                if isinstance(ended, Exception) and not isinstance(ended, ConnectionError):
                    raise ended
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


class OverHttp:
    """What a fake has in common with the HTTP that it stands on: its address, its beginning and its end."""

    _http: HttpFake

    @property
    def url(self) -> str:
        return self._http.url

    @property
    def port(self) -> int:
        return self._http.port

    def at(self, port: int) -> Self:
        """Let it begin on this port, where it was away until then."""
        self._http.port = port
        return self

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.__aexit__(kind, error, trace)


async def _see_leaving(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        await reader.read(1)


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Exchange:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *lines = head.strip().split("\r\n")
    method, path, _ = line.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (text.partition(":") for text in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Exchange(method, path, headers, body, writer)
