"""One streamed answer as the client reads it, and the tally of all answers of a round.

Above: the running subject, which opens answers, and the modes, which count. Below: the stamps.
"""

from __future__ import annotations

import asyncio
import time
from typing import cast

from benchmarks.overhead.stamps import StampFinder

_SHOWN_BYTES = 600


def now_us() -> int:
    """Give the time of the clock that the stamps are taken from, in µs."""
    return time.monotonic_ns() // 1000


class Tally:
    """What came of the answers of a round."""

    def __init__(self) -> None:
        self.tokens = 0
        self.answers = 0
        """Those that ended as a whole."""
        self.first_token_us: list[int] = []
        """From the sending of each request to its first token."""
        self.latencies_us: list[int] | None = None
        """From the sending of each token to its arrival, while there is a list."""
        self.failures = 0
        self.first_failure = ""


class Answer(asyncio.Protocol):
    """Sends one request when it is connected, and reads until the answer's end."""

    def __init__(self, request: bytes, tokens: int, tally: Tally) -> None:
        self.began: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done with the first token, or when the answer is over."""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the answer is over, in whatever way."""
        self._request = request
        self._tokens = tokens
        self._tally = tally
        self._stamps = StampFinder()
        self._head = b""
        self._sent_us = 0
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the request."""
        # uvloop's transports have the methods of this class without being of it.
        self._transport = cast(asyncio.WriteTransport, transport)
        self._sent_us = now_us()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Count what has come."""
        now, tally, stamps = now_us(), self._tally, self._stamps
        if not self._head:
            self._head = data[:_SHOWN_BYTES]
        is_first = stamps.last < 0
        if tally.latencies_us is None:
            new = stamps.feed(data)
        else:
            sent_us: list[int] = []
            new = stamps.feed(data, sent_us)
            tally.latencies_us += [now - sent for sent in sent_us]
        if new:
            tally.tokens += new
            if is_first:
                tally.first_token_us.append(now - self._sent_us)
                self.began.set_result(None)
        if stamps.at_end:
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take it as the end; some answers have no other."""
        self._end()

    def leave(self) -> None:
        """Go away before the end; that is no failure of the server."""
        self._close()

    def _end(self) -> None:
        if self.ended.done():
            return
        if self._stamps.last == self._tokens - 1:
            self._tally.answers += 1
        else:
            self._tally.failures += 1
            seen = f"{self._stamps.last + 1} of {self._tokens} tokens came, after {self._head!r}"
            self._tally.first_failure = self._tally.first_failure or seen
        self._close()

    def _close(self) -> None:
        for future in (self.began, self.ended):
            if not future.done():
                future.set_result(None)
        if self._transport is not None:
            self._transport.abort()
