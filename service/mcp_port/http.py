"""A server at an address, over Streamable HTTP: the SDK's transport, over a client that reads no more than a bound.

What the SDK leaves open is settled here: a server that has lost our session, as one that was started again has, is told
of; what a refusal without words of MCP means is said; and a connection that breaks ends the call that it was made for,
where the SDK would end them all.

Nothing comes from the environment: no proxy, no login. Redirects are followed within the address's own origin only,
which is the SDK's rule, so that headers with secrets go nowhere else.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from service.mcp_port.bounded_lines import MAX_LINE_BYTES
from service.mcp_port.config_file import HttpServer
from service.mcp_port.ending import LOST_SESSION, Ending
from service.mcp_port.stdio import TOO_LONG

CONNECT_TIMEOUT_S = 10.0

PACKED = "answers packed, though it was asked not to"

UNREACHED = "can't be reached"
BROKEN_OFF = "broke off the connection"

STATUS = "HTTP status "
"""Begins the message of the error that stands for a refusal without words of MCP; the number follows."""

_SESSION = "mcp-session-id"
_JSON = {"content-type": "application/json"}
# A server that hangs can't be told that its session ends, and nobody waits for that.
_END_WITHIN_S = 2.0
_REFUSAL_WITHIN_S = 10.0
_REFUSAL_BYTES = 64 * 1024


class Unread(httpx2.StreamError):
    """An answer is not read: it is longer than the bound, packed, or broken off; the text says which."""


@asynccontextmanager
async def http_transport(server: HttpServer, ending: Ending) -> AsyncGenerator[TransportStreams]:
    """Give the streams of messages; nothing is sent before the first one is. `ending` is told of a lost session."""
    # It reads the system's certificates, and modules the first time, which is nothing for the loop.
    transport = await asyncio.to_thread(_bounded_transport, ending)
    client = httpx2.AsyncClient(
        # Unpacked, an answer may be longer than it came.
        headers={**server.headers, "Accept-Encoding": "identity"},
        transport=transport,
        # How long a call may take is for the call to say.
        timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S),
        trust_env=False,
        follow_redirects=False,
    )
    async with (
        client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=MAX_LINE_BYTES) as streams,
    ):
        yield streams


def _bounded_transport(ending: Ending) -> httpx2.AsyncBaseTransport:
    return _Bounded(httpx2.AsyncHTTPTransport(verify=ssl.create_default_context(), trust_env=False), ending)


class _Bounded(httpx2.AsyncBaseTransport):
    """Ends an answer that is no event stream where it passes the bound, and one that comes packed at once."""

    def __init__(self, within: httpx2.AsyncBaseTransport, ending: Ending) -> None:
        self._within = within
        self._ending = ending

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "DELETE":
            return await self._end_session(request)
        try:
            response = await self._within.handle_async_request(request)
        except httpx2.TransportError as error:
            if request.method != "POST":
                raise
            never_sent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
            return _refusing(HTTPStatus.BAD_GATEWAY, request, UNREACHED if never_sent else BROKEN_OFF)
        if request.method == "POST" and response.status_code >= HTTPStatus.BAD_REQUEST:
            return await self._refusal(request, response)
        packed = response.headers.get("content-encoding", "identity").strip().lower() != "identity"
        if packed or not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)  # the transport is async
            response.stream = _PackedStream(response.stream) if packed else _BoundedStream(response.stream)
        return response

    async def _end_session(self, request: httpx2.Request) -> httpx2.Response:
        self._ending.is_ours()
        async with asyncio.timeout(_END_WITHIN_S):
            response = await self._within.handle_async_request(request)
            await response.aclose()
        return httpx2.Response(response.status_code, request=request)

    async def _refusal(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """Give a refusal as an error of MCP's, if it is none: the SDK throws away which status it was."""
        status, body = response.status_code, await _beginning(response)
        if _SESSION in request.headers and _is_lost(status, body):
            self._ending.end(LOST_SESSION)
            # In our words: this call was not carried out, while others that end with the connection may have been.
            return _refusing(status, request, LOST_SESSION)
        if _is_error(body):
            return httpx2.Response(status, headers=_JSON, content=body, request=request)
        if status == HTTPStatus.NOT_FOUND:
            # The SDK knows what it means before there is a session.
            return httpx2.Response(status, request=request)
        return _refusing(status, request, f"{STATUS}{status}")

    async def aclose(self) -> None:
        await self._within.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, within: httpx2.AsyncByteStream) -> None:
        self._within = within
        self._left = MAX_LINE_BYTES

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._within:
                self._left -= len(chunk)
                if self._left < 0:
                    raise Unread(TOO_LONG)
                yield chunk
        except httpx2.TransportError as error:
            raise Unread(BROKEN_OFF) from error

    async def aclose(self) -> None:
        await self._within.aclose()


class _PackedStream(_BoundedStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        raise Unread(PACKED)
        yield b""


async def _beginning(response: httpx2.Response) -> bytes:
    """Read the beginning of a refusal, which says why, and close it."""
    body = b""
    # Whatever is wrong with it, its status is known.
    with suppress(httpx2.TransportError, TimeoutError):
        async with asyncio.timeout(_REFUSAL_WITHIN_S):
            assert isinstance(response.stream, httpx2.AsyncByteStream)  # the transport is async
            async for chunk in response.stream:
                body += chunk
                if len(body) > _REFUSAL_BYTES:
                    break
    await response.aclose()
    return body


def _is_lost(status: int, body: bytes) -> bool:
    """Say whether a session is not known any more: 404 in MCP, 400 with a word about it in many servers."""
    return status == HTTPStatus.NOT_FOUND or (status == HTTPStatus.BAD_REQUEST and b"session" in body.lower())


def _refusing(status: int, request: httpx2.Request, message: str) -> httpx2.Response:
    """Make a refusal in words of MCP, which the SDK gives to whoever made the call."""
    error = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=INTERNAL_ERROR, message=message))
    content = error.model_dump_json(by_alias=True).encode()
    return httpx2.Response(status, headers=_JSON, content=content, request=request)


def _is_error(body: bytes) -> bool:
    try:
        return isinstance(jsonrpc_message_adapter.validate_json(body, by_name=False), JSONRPCError)
    except ValueError:
        return False
