"""Servers with sessions: one that forgets them, refuses, goes away, or never lets one end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from service.mcp_port import http, supervisor
from service.mcp_port.config_file import HttpServer, ServerConfig
from service.mcp_port.listed import CallFault, ServerState
from service.mcp_port.servers import ServersOf
from tests.mcp_port.odd import BOUND_S, HandClock, call, running, server_of
from tests.mcp_port.session_server import SessionServer, not_found

pytestmark = pytest.mark.anyio


def at(server: SessionServer) -> ServerConfig:
    return ServerConfig(name="odd", transport=HttpServer(url=f"{server.url}/mcp", headers={}))


@pytest.mark.parametrize(
    "lost",
    [
        (404, b""),
        (404, b"<p>Not found</p>"),
        (404, not_found(None)),
        (404, not_found("server-error")),
        (400, b'{"error": "No valid session ID provided"}'),
        (400, not_found(None)),
    ],
    ids=["404", "404, a page", "404 of MCP", "404 of MCP with an id", "400", "400 of MCP"],
)
async def test_a_call_in_a_session_that_the_server_has_forgotten_is_made_in_a_new_one(
    lost: tuple[int, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "OTHERS_WITHIN_S", BOUND_S)
    clock = HandClock()
    async with SessionServer(lost) as server, running(at(server), clock=clock) as servers:
        assert await call(servers, "which") == "session-1"
        clock.time += 60
        server.forget()

        both = await asyncio.gather(call(servers, "which"), call(servers, "which"))

        assert both == ["session-2", "session-2"]
        assert server_of(servers).state is ServerState.UP
        assert (server.begun, server.calls, clock.slept) == (2, 3, [])


async def test_a_call_that_runs_while_its_session_is_forgotten_is_not_made_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "OTHERS_WITHIN_S", 0.05)
    async with SessionServer() as server, running(at(server)) as servers:
        assert await call(servers, "which") == "session-1"
        running_call = asyncio.create_task(call(servers, "hang"))
        await server.hangs.wait()
        server.forget()

        assert await call(servers, "which") == "session-2"
        with pytest.raises(CallFault, match="ended while the call ran; it may have taken effect"):
            await running_call

        assert server.calls == 3


async def test_a_server_that_forgets_each_session_at_once_is_tried_after_waits_as_one_that_does_not_start() -> None:
    clock = HandClock()
    async with SessionServer() as server:
        server.forgets_at_once = True
        async with running(at(server), clock=clock) as servers:
            with pytest.raises(CallFault) as raised:
                await call(servers, "which")
            async with asyncio.timeout(BOUND_S):
                await clock.asleep.wait()

            said = "does not know this session any more; the next try is 1 s later"
            assert (server_of(servers).said, server.begun) == (said, 1)
            assert str(raised.value).removeprefix("the MCP server odd ") == said


async def test_a_400_that_says_nothing_of_sessions_is_the_calls_own() -> None:
    async with SessionServer() as server, running(at(server)) as servers:
        server.refuses = 400
        with pytest.raises(CallFault, match=r"^the MCP server odd answers with HTTP 400$"):
            await call(servers, "which")
        server.refuses = None
        assert await call(servers, "which") == "session-1"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "answers with HTTP 401: it asks for a login; put a token into its headers in the file"),
        (403, "answers with HTTP 403: it refuses whoever has these headers"),
        (429, "answers with HTTP 429: it is asked too often"),
        (503, "answers with HTTP 503"),
    ],
)
async def test_a_call_that_is_refused_without_words_of_mcp_says_how(status: int, said: str) -> None:
    async with SessionServer() as server, running(at(server)) as servers:
        server.refuses = status
        with pytest.raises(CallFault) as raised:
            await call(servers, "which")
        server.refuses = None

        assert str(raised.value) == f"the MCP server odd {said}"
        assert await call(servers, "which") == "session-1"


async def test_a_server_that_lets_no_session_end_holds_up_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_END_WITHIN_S", 0.05)
    async with SessionServer() as server:
        server.is_deaf = True
        async with asyncio.timeout(BOUND_S), running(at(server)) as servers:
            assert await call(servers, "which") == "session-1"


@pytest.mark.parametrize("after_bytes", [0, 20, 85], ids=["no answer", "half a head", "half a body"])
async def test_a_connection_that_breaks_fails_its_call_alone(after_bytes: int) -> None:
    async with SessionServer() as server, running(at(server)) as servers:
        other = asyncio.create_task(call(servers, "hang"))
        await server.hangs.wait()
        server.breaks = after_bytes
        with pytest.raises(CallFault) as raised:
            await call(servers, "which")
        server.breaks = None

        said = "broke off the connection while the call ran; it may have taken effect"
        assert str(raised.value) == f"the MCP server odd {said}"
        assert await call(servers, "which") == "session-1"
        assert not other.done()
        other.cancel()


async def test_a_server_that_is_gone_was_not_called_and_is_looked_for_again() -> None:
    clock = HandClock()
    async with AsyncExitStack() as stack:
        async with SessionServer() as server:
            servers = await stack.enter_async_context(running(at(server), clock=clock))
            assert await call(servers, "which") == "session-1"

        with pytest.raises(CallFault, match="the MCP server odd can't be reached; the call was not made"):
            await call(servers, "which")
        async with asyncio.timeout(BOUND_S):
            await clock.asleep.wait()
        assert server_of(servers).said == "can't be reached; the next try is 1 s later"


async def test_the_end_of_the_port_is_not_lost_on_a_connection_that_breaks_in_the_same_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = asyncio.Event()

    @asynccontextmanager
    async def breaking(*_: object) -> AsyncGenerator[None]:
        begun.set()
        try:
            yield
        finally:
            # As the SDK's groups of tasks do: in place of the cancel.
            raise OSError

    async def none(_: object) -> tuple[()]:
        return ()

    monkeypatch.setattr(supervisor, "connected", breaking)
    monkeypatch.setattr(supervisor, "tools_of", none)
    clock = HandClock()
    config = ServerConfig(name="odd", transport=HttpServer(url="http://127.0.0.1:9/mcp", headers={}))
    # A server that went on would sleep for ever before its next start.
    async with asyncio.timeout(BOUND_S), ServersOf([config], sleep=clock.sleep, now=clock.now):
        await begun.wait()
