"""A service whose connections are held to bounds, and a client that sends bytes as they are."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp

from service.web.app import Build, create_app
from service.web.connection_bounds import bounds_of
from service.web.connections import bounded_connections
from tests.web.fakes import FakeApplication
from tests.web.serving import BOUND_S, Server, settings_with
from tests.web.stepped import settle

LIVE = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
CREATE = b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


class RawClient:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, data: bytes) -> None:
        """Send without waiting."""
        self._writer.write(data)

    async def send_all(self, data: bytes) -> None:
        """Send, and wait until most of it has left."""
        self._writer.write(data)
        async with asyncio.timeout(BOUND_S):
            await self._writer.drain()

    async def answer(self) -> bytes:
        """Read one answer that tells its length."""
        async with asyncio.timeout(BOUND_S):
            head = await self._reader.readuntil(b"\r\n\r\n")
            lines = head.lower().split(b"\r\n")
            length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
            return head + await self._reader.readexactly(length)

    async def rest(self) -> bytes:
        """Read until the service closes."""
        async with asyncio.timeout(BOUND_S):
            return await self._reader.read()

    def leave(self) -> None:
        """Break the connection off."""
        self._writer.transport.abort()


@dataclass
class Bounded:
    """The service."""

    port: int
    server: Server

    @asynccontextmanager
    async def client(self, *sent: bytes) -> AsyncGenerator[RawClient]:
        """Connect, and send this."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        client = RawClient(reader, writer)
        for data in sent:
            client.send(data)
        try:
            yield client
        finally:
            writer.close()

    async def answers(self, *sent: bytes) -> bytes:
        """Connect, send this, and read until the service closes."""
        async with self.client(*sent) as client:
            return await client.rest()

    async def is_empty(self) -> None:
        """Wait until there is no connection and no task for one."""
        await self.is_empty_but_for(0)

    async def is_empty_but_for(self, connections: int) -> None:
        """Wait until there are so many connections, and no task for one."""
        state = self.server.server_state
        async with asyncio.timeout(BOUND_S):
            while len(state.connections) > connections or state.tasks:
                await settle()


@asynccontextmanager
async def bounded(
    build: Build | None = None,
    *,
    app: ASGIApp | None = None,
    keep_alive_s: int = 10 * BOUND_S,
    **values: object,
) -> AsyncGenerator[Bounded]:
    """Serve an app, by default the service's over fakes; times are in seconds and may be parts of one."""
    settings = settings_with(**values)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(
            app or create_app(settings, build or FakeApplication().build),
            http=bounded_connections(bounds_of(settings)),
            log_level="error",
            ws="none",
            lifespan="on" if app is None else "off",
            # Longer than any test, as a rule: what is closed before is closed by a bound.
            timeout_keep_alive=keep_alive_s,
            timeout_graceful_shutdown=BOUND_S,
        )
        server = Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]), name="uvicorn")
        port: int = listener.getsockname()[1]
        try:
            async with asyncio.timeout(BOUND_S):
                while not server.started:
                    await settle()
            yield Bounded(port, server)
        finally:
            server.should_exit = True
            await serving
