"""One request and its answer on a connection of its own: bytes in, head and body out.

Above: `transport`. Below: asyncio, which calls it, and httptools, which parses.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import cast

import httpx
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

MAX_HEAD_BYTES = 64 * 1024
"""What an answer's head may have; llama-server's has some 300 bytes, and other clients choose 8 to 64 KiB."""

MAX_WAITING_BYTES = 256 * 1024
"""From here on no more is read until what has come is taken; a token has some 250 bytes."""

_FINAL = 200


class NotHttp(httpx.RemoteProtocolError):
    """What came can't be read as an answer."""


class FirstBytes:
    """Whether the first bytes of an answer have come: its head is told of only when it is whole (L2)."""

    def __init__(self) -> None:
        self.have_come = False


Sink = Callable[[bytes], bool]
"""Takes a piece of a body; False when it takes no more for now."""


@dataclass(slots=True)
class _Pushing:
    """A sink, and what came of it."""

    sink: Sink
    goes_on: bool = True
    error: Exception | None = None


class Exchange(asyncio.Protocol, AsyncIterator[bytes]):
    """Iterate over it for the body: each item is all that has come since the last one.

    `status` and `headers` are those of the answer once `head` has returned.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, heard: FirstBytes | None = None) -> None:
        self._loop = loop
        self._heard = heard
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self._head_is_whole = False
        self._head_bytes = 0
        self._body: list[bytes] = []
        self._waiting_bytes = 0
        self._is_paused = False
        self._is_whole = False
        self._ends_with_connection = False
        self._failure: httpx.TransportError | None = None
        self._pushing: _Pushing | None = None
        # Of the one that waits for the head, or for more of the body.
        self._waiter: asyncio.Future[None] | None = None

    def send(self, head: bytes, body: bytes) -> None:
        """Send the request."""
        if self._transport is not None:
            self._transport.writelines((head, body))

    async def head(self) -> None:
        """Wait for the head.

        Raises:
            httpx.ReadError: the connection was lost before.
            NotHttp: what came is none.
        """
        while not self._head_is_whole:
            if self._failure is not None:
                raise self._failure
            await self._more()

    def header(self, name: bytes) -> str:
        """Give a header of the answer, by its name in small letters; empty where there is none."""
        return b", ".join(value for key, value in self.headers if key.lower() == name).decode("latin-1")

    async def __anext__(self) -> bytes:
        while not self._body:
            if self._failure is not None:
                raise self._failure
            if self._is_whole:
                raise StopAsyncIteration
            await self._more()
        return self._taken()

    async def push(self, sink: Sink) -> bool:
        """Have `sink` take what comes in the moment in which it comes, until it gives False, or the body ends.

        Nothing waits in between, so a token costs no switch to a task and back, which is a quarter of its way.

        Returns:
            True when the body has ended.

        Raises:
            httpx.ReadError: the connection was lost before that.
            NotHttp: what came is no answer any more.
        """
        while True:
            if self._body:
                if not sink(self._taken()):
                    return False
                continue
            if self._failure is not None:
                raise self._failure
            if self._is_whole:
                return True
            pushing = self._pushing = _Pushing(sink)
            try:
                await self._more()
            finally:
                self._pushing = None
            if pushing.error is not None:
                raise pushing.error
            if not pushing.goes_on:
                return False

    def _taken(self) -> bytes:
        come, self._body, self._waiting_bytes = self._body, [], 0
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return come[0] if len(come) == 1 else b"".join(come)

    def _push(self, pushing: _Pushing) -> None:
        try:
            pushing.goes_on = pushing.sink(self._taken())
        except Exception as error:  # not swallowed: it is what the one who waits gets
            pushing.error = error
        if pushing.error is not None or not pushing.goes_on:
            self._pushing = None
            self._wake()

    def close(self) -> None:
        """Close the connection at once, whatever is still to come."""
        self._fail(httpx.ReadError("the connection was closed by us"))
        if self._transport is not None:
            self._transport.abort()

    async def _more(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, failure: httpx.TransportError) -> None:
        if not self._is_whole and self._failure is None:
            self._failure = failure
        self._wake()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        if self._heard is not None:
            self._heard.have_come = True
            self._heard = None
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._fail(NotHttp(f"no HTTP: {error}"))
        if not self._head_is_whole:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._fail(NotHttp(f"a head of more than {MAX_HEAD_BYTES} bytes"))
        elif self._pushing is not None and self._body:
            self._push(self._pushing)
            if not self._is_whole and self._failure is None:
                return
        elif self._waiting_bytes > MAX_WAITING_BYTES and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note of the end."""
        self._is_whole = self._is_whole or (self._ends_with_connection and exc is None)
        self._fail(httpx.ReadError("the connection was lost"))

    # What the parser calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Take the head, unless it is one that announces another."""
        self.status = self._parser.get_status_code()
        if self.status < _FINAL:
            self.headers.clear()
            return
        self._head_is_whole = True
        names = {name.lower() for name, _ in self.headers}
        self._ends_with_connection = names.isdisjoint((b"content-length", b"transfer-encoding"))

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._body.append(body)
        self._waiting_bytes += len(body)

    def on_message_complete(self) -> None:
        """Take note that the answer is whole."""
        self._is_whole = self._head_is_whole
