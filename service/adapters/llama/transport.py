"""The way to llama-server: one connection for each request, for httpx's client and for what goes past it.

httpx's own transport hands on every HTTP chunk by itself, at 30 to 45 µs of CPU for each token; here all that has
arrived together is handed on together, without waiting for more. Above: `connection`. Below: `exchange`, which is one
request with its answer.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from typing import Any, cast

import httpx

from service.adapters.llama.exchange import Exchange, FirstBytes

_PORTS = {"http": 80, "https": 443}


class LlamaTransport(httpx.AsyncBaseTransport):
    """Sends a request over HTTP/1.1 and gives its answer as soon as the head is there.

    Of httpx's timeouts it knows the one for connecting; what comes later has no bound here, on purpose (L2).
    """

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; its answer is to be closed. Errors are those of `send`."""
        timeout = cast("dict[str, float | None]", request.extensions.get("timeout", {}))
        head = head_of(request.method, request.url, request.headers)
        exchange = await self.send(request.url, head, await request.aread(), connect_s=timeout.get("connect"))
        # httpx reads where a redirect leads to also where none is followed, and raises what nobody expects when that is
        # no address.
        headers = [header for header in exchange.headers if header[0].lower() != b"location"]
        return httpx.Response(exchange.status, headers=headers, stream=_Body(exchange))

    async def send(
        self, url: httpx.URL, head: bytes, body: bytes, *, connect_s: float | None, heard: FirstBytes | None = None
    ) -> Exchange:
        """Send a request, and wait for the head of its answer; the exchange is to be closed.

        Raises:
            httpx.ConnectError: nobody answers there.
            httpx.ConnectTimeout: nobody did in time.
            httpx.ReadError: the connection was lost before the head was whole.
            NotHttp: what came is none.
        """
        exchange = await self._connect(url, connect_s, heard)
        try:
            exchange.send(head, body)
            await exchange.head()
        except BaseException:
            exchange.close()
            raise
        return exchange

    async def _connect(self, url: httpx.URL, connect_s: float | None, heard: FirstBytes | None) -> Exchange:
        secure = url.scheme == "https"
        loop = asyncio.get_running_loop()
        tls: dict[str, Any] = {"ssl": self._tls, "server_hostname": url.host} if secure else {}
        try:
            async with asyncio.timeout(connect_s):
                _, exchange = await loop.create_connection(
                    lambda: Exchange(loop, heard), url.host, url.port or _PORTS[url.scheme], **tls
                )
        except TimeoutError as error:
            raise httpx.ConnectTimeout("no answer in time") from error
        except OSError as error:
            raise httpx.ConnectError(reason_of(error)) from error
        return exchange


def head_of(method: str, url: httpx.URL, headers: httpx.Headers) -> bytes:
    """Write the head of a request."""
    lines = [b"%s: %s\r\n" % header for header in headers.raw]
    return b"%s %s HTTP/1.1\r\n%s\r\n" % (method.encode(), url.raw_path, b"".join(lines))


def reason_of(error: OSError) -> str:
    """Say in words why there is no connection."""
    # Errors of name resolution have negative numbers and a text of their own.
    if error.errno is not None and error.errno > 0 and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno)
    return error.strerror or str(error)


class _Body(httpx.AsyncByteStream):
    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._exchange

    async def aclose(self) -> None:
        self._exchange.close()
