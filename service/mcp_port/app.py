"""The HTTP application: `GET /tools`, `POST /calls`, `GET /healthz`.

Above: the command. Below, in the order of a call: `port_wire` reads it and checks who wrote it, `keyed_calls.py` lets
it run once, `catalogue.py` says which tool it means, the servers run it, `results.py` says what came of it.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from fastapi import FastAPI, Request, Response

from service.mcp_port.catalogue import Catalogue, catalogue_of, tools_answer
from service.mcp_port.config_file import ServerConfig
from service.mcp_port.keyed_calls import AlreadyRun, KeyedCalls
from service.mcp_port.listed import CallFault, McpServers, ServerState
from service.mcp_port.results import answer_of
from service.mcp_port.servers import ServersOf
from service.mcp_port.specs import OfferedTool
from service.port_wire.answers import Answer, Failed, PendingApproval, to_bytes, to_wire
from service.port_wire.endpoints import json_answer, port_app
from service.port_wire.incoming import CallRequest
from service.port_wire.signatures import Signatures

LIST_WAIT_S = 4.0
"""A list waits so long for servers that start for the first time; Turnkeeper waits longer for it, 5 s at least."""

START_WAIT_S = 60.0
"""A call waits so long for its server's first start, before it is known which tools that has."""

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_LEFT = 499

_log = logging.getLogger(__name__)


def create_app(
    configs: Sequence[ServerConfig],
    *,
    token: str | None = None,
    signatures: Signatures | None = None,
    servers: McpServers | None = None,
    keyed: KeyedCalls | None = None,
) -> FastAPI:
    """Build the app over the servers of a file, or over others that run already."""
    # Servers that are given run already.
    own = ServersOf(configs)
    port = _Port(configs, servers or own)
    calls = keyed or KeyedCalls()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        async with own if servers is None else nullcontext():
            yield

    async def run_call(request: Request, asked: CallRequest, key: str | None) -> Response:
        trace = _trace_of(request)
        if key is None:
            return await _unless_left(request, port.run(asked, trace))
        return await _unless_left(request, _once(calls, key, asked, lambda: port.run(asked, trace)))

    return port_app("MCP tool port", port.tools, run_call, token=token, signatures=signatures, lifespan=lifespan)


class _Port:
    """What the servers offer, and how one of their tools is run."""

    def __init__(self, configs: Sequence[ServerConfig], servers: McpServers) -> None:
        self._configs = configs
        self._servers = servers

    async def tools(self) -> bytes:
        await self._servers.settled(LIST_WAIT_S)
        listed = self._servers.listed()
        catalogue = self._catalogue()
        for line in catalogue.left_out:
            _log.warning(line)
        return to_bytes(tools_answer(catalogue, listed))

    def _catalogue(self) -> Catalogue:
        return catalogue_of(self._configs, self._servers.listed())

    async def run(self, asked: CallRequest, traceparent: str | None) -> bytes:
        """Run a call; whatever goes wrong is an answer."""
        try:
            answer = await self._answer(asked, traceparent)
        except Exception:
            # A defect of ours, or of the SDK: the call fails, and the port goes on.
            _log.exception("%r: a defect of the port", asked.tool)
            answer = Failed(message="the MCP port made a mistake of its own; its log says more")
        wire = to_wire(answer)
        # The name comes from outside: quoted, so that it cannot fake a line of the log.
        _log.info("%r: %s", asked.tool, wire["status"])
        try:
            return to_bytes(wire)
        except (TypeError, ValueError):
            return to_bytes(to_wire(Failed(message="the server's answer can't be written as JSON")))

    async def _answer(self, asked: CallRequest, traceparent: str | None) -> Answer:
        tool = await self._tool(asked.tool)
        if tool is None:
            return Failed(message=self._why_none(asked.tool))
        if tool.spec.get("needs_approval") and asked.approval is None:
            # The file may have changed since the session took its list.
            return PendingApproval(reason="this port's file asks for a person's approval of each call of this tool")
        arguments: dict[str, Any] = dict(asked.arguments)
        try:
            result = await self._servers.call(
                tool.server, tool.tool, arguments, timeout_s=tool.timeout_s, traceparent=traceparent
            )
        except CallFault as fault:
            return Failed(message=str(fault))
        return answer_of(result, untrusted=tool.untrusted)

    async def _tool(self, name: str) -> OfferedTool | None:
        found = self._catalogue().tools.get(name)
        starting = [server.name for server in self._servers.listed() if server.state is ServerState.STARTING]
        for server in starting:
            if found is None and name.startswith(f"{server}__"):
                # The session has its list from before this port was started.
                await self._servers.settled(START_WAIT_S, server)
                found = self._catalogue().tools.get(name)
        return found

    def _why_none(self, name: str) -> str:
        for server in self._servers.listed():
            if name.startswith(f"{server.name}__") and not server.tools:
                return f"the MCP server {server.name} {server.said or 'lists no tools'}"
        return f"there is no tool {name!r}"


async def _once(
    calls: KeyedCalls, key: str, asked: CallRequest, run: Callable[[], Coroutine[None, None, bytes]]
) -> bytes:
    try:
        return await calls.answer(key, asked.fingerprint(), run)
    except AlreadyRun as error:
        return to_bytes(to_wire(Failed(message=str(error))))


async def _unless_left(request: Request, work: Coroutine[None, None, bytes]) -> Response:
    """Answer with what comes of it; a caller who leaves meanwhile cancels it."""
    doing = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return json_answer(doing.result())
        return Response(status_code=_LEFT)
    finally:
        doing.cancel()
        leaving.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)


async def _left(request: Request) -> None:
    # The body has been read: what comes now is the end of the connection.
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _trace_of(request: Request) -> str | None:
    given = request.headers.get("traceparent", "")
    return given if _TRACEPARENT.fullmatch(given) else None
