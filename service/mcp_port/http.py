"""A server at an address, over Streamable HTTP: the SDK's transport, over a client that reads no more than a bound.

Nothing comes from the environment: no proxy, no login. Redirects are followed within the address's own origin only,
which is the SDK's rule, so that headers with secrets go nowhere else.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from service.mcp_port.bounded_lines import MAX_LINE_BYTES
from service.mcp_port.config_file import HttpServer
from service.mcp_port.stdio import TOO_LONG

CONNECT_TIMEOUT_S = 10.0


PACKED = "answers packed, though it was asked not to"


class Unread(httpx2.StreamError):
    """An answer is not read: it is longer than the bound, or packed; the text says which."""


@asynccontextmanager
async def http_transport(server: HttpServer) -> AsyncGenerator[TransportStreams]:
    """Give the streams of messages; nothing is sent before the first one is."""
    # It reads the system's certificates, and modules the first time, which is nothing for the loop.
    transport = await asyncio.to_thread(_bounded_transport)
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


def _bounded_transport() -> httpx2.AsyncBaseTransport:
    return _Bounded(httpx2.AsyncHTTPTransport(verify=ssl.create_default_context(), trust_env=False))


class _Bounded(httpx2.AsyncBaseTransport):
    """Ends an answer that is no event stream where it passes the bound, and one that comes packed at once."""

    def __init__(self, within: httpx2.AsyncBaseTransport) -> None:
        self._within = within

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._within.handle_async_request(request)
        packed = response.headers.get("content-encoding", "identity").strip().lower() != "identity"
        if packed or not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)  # the transport is async
            response.stream = _PackedStream(response.stream) if packed else _BoundedStream(response.stream)
        return response

    async def aclose(self) -> None:
        await self._within.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, within: httpx2.AsyncByteStream) -> None:
        self._within = within
        self._left = MAX_LINE_BYTES

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._within:
            self._left -= len(chunk)
            if self._left < 0:
                raise Unread(TOO_LONG)
            yield chunk

    async def aclose(self) -> None:
        await self._within.aclose()


class _PackedStream(_BoundedStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        raise Unread(PACKED)
        yield b""
