"""Two ways to the web app: in this process, for answers that are no streams, and over a real socket."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from service.config import Settings
from service.ports.api_keys import ApiKeys
from service.web.app import Build, create_app
from service.web.connection_bounds import bounds_of
from service.web.connections import bounded_connections
from tests.web.fakes import FakeApplication

BOUND_S = 10
HOST = "localhost:8000"


def settings_with(**values: object) -> Settings:
    """Give the defaults with some values changed; reads no file and no variable, as `Settings` would."""
    return Settings.model_construct(None, **values)


@asynccontextmanager
async def called(
    application: FakeApplication,
    settings: Settings | None = None,
    *,
    keys: ApiKeys | None = None,
    peer: str = "127.0.0.1",
) -> AsyncGenerator[httpx.AsyncClient]:
    """Call the app without a socket. The transport collects a whole body, so it shows nothing of a stream."""
    app = create_app(settings or settings_with(), application.build, keys)
    async with app.router.lifespan_context(app) as state:
        transport = httpx.ASGITransport(_with_state(app, state), client=(peer, 50_000), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}", trust_env=False) as http:
            yield http


def _with_state(app: ASGIApp, state: Any) -> ASGIApp:
    async def stated(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "state": dict(state)}, receive, send)

    return stated


class Server(uvicorn.Server):
    """uvicorn without its handlers: the signals of this process are pytest's."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@dataclass
class Served:
    """A service on a port of loopback."""

    http: httpx.AsyncClient
    port: int
    server: Server


@asynccontextmanager
async def served(
    application: FakeApplication, settings: Settings | None = None, keys: ApiKeys | None = None
) -> AsyncGenerator[Served]:
    """Serve the app over fakes."""
    async with served_by(application.build, settings, keys) as service:
        yield service


@asynccontextmanager
async def served_by(
    build: Build, settings: Settings | None = None, keys: ApiKeys | None = None
) -> AsyncGenerator[Served]:
    """Serve the app by uvicorn on a free port of loopback."""
    settings = settings or settings_with()
    app = create_app(settings, build, keys)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        config = uvicorn.Config(
            app,
            http=bounded_connections(bounds_of(settings)),
            log_level="error",
            ws="none",
            lifespan="on",
            # A connection that a client holds is not closed in the moment in which it is used again.
            timeout_keep_alive=10 * BOUND_S,
            timeout_graceful_shutdown=BOUND_S,
            server_header=False,
        )
        server = Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]), name="uvicorn")
        url = f"http://127.0.0.1:{port}"
        try:
            async with httpx.AsyncClient(base_url=url, timeout=BOUND_S, trust_env=False, verify=False) as http:
                yield Served(http, port, server)
        finally:
            server.should_exit = True
            await serving


@dataclass(frozen=True)
class Frame:
    """One block of an event stream, as lines."""

    lines: tuple[str, ...]

    def field(self, name: str) -> str | None:
        values = [line.partition(": ")[2] for line in self.lines if line.startswith(f"{name}: ")]
        assert len(values) <= 1
        return values[0] if values else None

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.field("data") or "")


async def frames_of(response: httpx.Response) -> AsyncGenerator[Frame]:
    """Read an event stream block by block; only LF ends a line."""
    text = b""
    async for chunk in response.aiter_raw():
        text += chunk
        while b"\n\n" in text:
            block, _, text = text.partition(b"\n\n")
            yield Frame(tuple(block.decode().split("\n")))
    assert text == b"", "the stream ends within a frame"


async def within_bound(event: asyncio.Event) -> None:
    async with asyncio.timeout(BOUND_S):
        await event.wait()
