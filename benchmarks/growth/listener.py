"""A follower of a session's stream that only looks for the fake's tokens in it. Above: `follower_count`."""

from __future__ import annotations

import asyncio
import re
import time
from typing import cast

from benchmarks.growth.connection import request_bytes
from benchmarks.startup.own_service import HOST

# What the fake writes as a token: when it did, in microseconds of the machine's monotonic clock, and its number.
_TOKEN = re.compile(rb"T(\d{15})\.(\d+)E")
_FRAME = b"\nevent: content\n"
# Longer than a token and than what begins a frame.
_KEPT = 48


class Listener(asyncio.Protocol):
    """Notes how late each token is until the last one of a turn is there."""

    def __init__(self, session: str, tokens: int) -> None:
        loop = asyncio.get_running_loop()
        self.began: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.late_us: list[int] = []
        self.frames = 0
        self._request = request_bytes("GET", f"/sessions/{session}/events")
        self._tokens = tokens
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Look for tokens that were not seen yet: the records at the end of a step hold them again."""
        now_us = time.monotonic_ns() // 1000
        if not self.began.done():
            self.began.set_result(None)
        text = self._rest + data
        # A frame is counted when its beginning is whole, and only once.
        self.frames += text.count(_FRAME) - self._rest.count(_FRAME)
        for stamp, number in _TOKEN.findall(text):
            if int(number) == len(self.late_us):
                self.late_us.append(now_us - int(stamp))
        self._rest = text[-_KEPT:]
        if len(self.late_us) >= self._tokens and not self.ended.done():
            self.ended.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever waits that nothing comes any more."""
        for waited in (self.began, self.ended):
            if not waited.done():
                waited.set_exception(ConnectionResetError("a follower lost its stream"))

    def leave(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.abort()


async def listener(port: int, session: str, tokens: int) -> Listener:
    """Follow a session; the stream has begun when this returns."""
    loop = asyncio.get_running_loop()
    _, made = await loop.create_connection(lambda: Listener(session, tokens), HOST, port)
    await made.began
    return made
