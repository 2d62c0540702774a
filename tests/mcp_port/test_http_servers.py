"""Servers at an address: the SDK's own over Streamable HTTP, and addresses that answer as no server should."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from service.mcp_port.config_file import HttpServer, ServerConfig
from service.mcp_port.listed import CallFault, ServerState
from tests.cases.http_fake import Exchange, HttpFake
from tests.mcp_port.odd import BOUND_S, HandClock, call, heard_log, odd, running, server_of

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024


class Heard:
    """An app that remembers the headers of each request."""

    def __init__(self, app: ASGIApp) -> None:
        self.headers: list[dict[str, str]] = []
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        await self._app(scope, receive, send)


def tools_server() -> tuple[MCPServer, asyncio.Event]:
    server, cancelled = MCPServer("tools"), asyncio.Event()

    @server.tool()
    async def add(a: int, b: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Add two numbers."""
        return a + b

    @server.tool()
    async def hang() -> str:  # pyright: ignore[reportUnusedFunction]
        """Never answer."""
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return ""

    @server.tool()
    async def huge() -> str:  # pyright: ignore[reportUnusedFunction]
        """Answer with more than is read."""
        return "x" * 20 * MIB

    @server.tool()
    async def more(ctx: Context) -> str:  # pyright: ignore[reportUnusedFunction]
        """Get one more tool."""

        async def another() -> str:
            return "another"

        server.add_tool(another, "another", description="Another tool.")
        await ctx.notify_tools_changed()
        return "done"

    return server, cancelled


@asynccontextmanager
async def served(app: ASGIApp, port: int = 0) -> AsyncGenerator[str]:
    with socket.create_server(("127.0.0.1", port)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=1))
        serving = asyncio.create_task(server.serve(sockets=[listener]), name="uvicorn")
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            await serving


def at(url: str, name: str = "odd", **more: Any) -> ServerConfig:
    headers = more.pop("headers", {})
    return ServerConfig(name=name, transport=HttpServer(url=url, headers=headers), **more)


def app_of(server: MCPServer, *, json_response: bool = False) -> Starlette:
    return server.streamable_http_app(json_response=json_response)


@pytest.mark.parametrize("json_response", [True, False])
async def test_a_server_is_listed_and_called_with_the_headers_of_the_file(json_response: bool) -> None:
    heard = Heard(app_of(tools_server()[0], json_response=json_response))
    async with served(heard) as url, running(at(url, headers={"Authorization": "Bearer mine"})) as servers:
        assert sorted(tool.name for tool in server_of(servers).tools) == ["add", "hang", "huge", "more"]
        result = await servers.call("odd", "add", {"a": 2, "b": 3}, timeout_s=10, traceparent=None)

    assert result.structured_content == {"result": 5}
    assert {headers.get("authorization") for headers in heard.headers} == {"Bearer mine"}


@pytest.mark.parametrize("json_response", [True, False])
async def test_an_answer_that_is_too_long_fails_its_call_alone(json_response: bool) -> None:
    async with (
        served(app_of(tools_server()[0], json_response=json_response)) as url,
        running(at(url)) as servers,
    ):
        with pytest.raises(CallFault, match="the MCP server odd"):
            await call(servers, "huge")
        assert await call(servers, "add", a=1, b=1) == "2"


async def test_a_cancelled_call_cancels_the_request() -> None:
    server, cancelled = tools_server()
    async with served(app_of(server)) as url, running(at(url)) as servers:
        with pytest.raises(CallFault, match="did not answer within"):
            await call(servers, "hang", timeout_s=0.5)
        async with asyncio.timeout(BOUND_S):
            await cancelled.wait()
        assert await call(servers, "add", a=1, b=1) == "2"


async def test_a_changed_list_is_asked_for_again() -> None:
    with heard_log() as log:
        async with served(app_of(tools_server()[0])) as url, running(at(url)) as servers:
            assert await call(servers, "more") == "done"
            await log.with_words("changed its tools")
            assert "another" in [tool.name for tool in server_of(servers).tools]


async def test_a_server_that_was_away_is_found_again() -> None:
    clock = HandClock()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with heard_log() as log:
        async with running(at(f"http://127.0.0.1:{port}/mcp"), odd(name="other"), clock=clock) as servers:
            assert server_of(servers).said == "can't be reached; the next try is 1 s later"
            assert "hi" in await call(servers, "echo", server="other", text="hi")
            async with served(app_of(tools_server()[0]), port):
                await clock.wake()
                await log.with_words("server odd is up")
                assert await call(servers, "add", a=1, b=1) == "2"
            # Now it is gone again.
            with pytest.raises(CallFault, match="the MCP server odd"):
                await call(servers, "add", a=1, b=1)
            await clock.asleep.wait()
            assert server_of(servers).state is ServerState.DOWN
            async with served(app_of(tools_server()[0]), port):
                await clock.wake()
                await log.with_words("server odd is up", 2)
                assert await call(servers, "add", a=1, b=1) == "2"


Answer = Callable[[Exchange], Awaitable[None]]


def status(number: int) -> Answer:
    async def answer(exchange: Exchange) -> None:
        await exchange.answer(b"secret words of a page", status=number)

    return answer


async def no_json(exchange: Exchange) -> None:
    await exchange.answer(b"no json")


async def redirect(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:9/elsewhere\r\nContent-Length: 0\r\n\r\n")


async def bomb(exchange: Exchange) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n"
    await exchange.raw(head + b"\x1f\x8b\x08\x00")


async def endless(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
    while True:
        await exchange.raw(b" " * 65_536)


async def silent(exchange: Exchange) -> None:
    await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (status(401), "answers with HTTP 401: it asks for a login; put a token into its headers in the file"),
        (status(404), "knows nothing of what every MCP client asks first: is the path of its url right?"),
        (status(500), "answers with HTTP 500"),
        (no_json, "refuses what every MCP client asks first"),
        (redirect, "refuses what every MCP client asks first"),
        (bomb, "answers packed, though it was asked not to"),
        (endless, "answered with more than 8 MiB, which is too much"),
        (silent, "did not start within 0.7 s"),
    ],
    ids=["401", "404", "500", "no json", "redirect", "packed", "endless", "silent"],
)
async def test_an_address_where_no_server_is_says_so_and_holds_up_no_other(answer: Answer, said: str) -> None:
    limit = 0.7 if answer is silent else 15
    async with (
        HttpFake(answer) as http,
        running(at(f"{http.url}/mcp", start_timeout_s=limit), odd(name="other")) as servers,
    ):
        assert server_of(servers).said.partition("; the next")[0] == said
        assert "hi" in await call(servers, "echo", server="other", text="hi")


async def test_nothing_goes_through_a_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with served(app_of(tools_server()[0])) as url, running(at(url)) as servers:
        assert await call(servers, "add", a=1, b=1) == "2"
