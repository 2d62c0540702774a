"""The response that sends frames until they end, the reader leaves, or it takes nothing for too long (H6, H7).

Above: `sse`, which makes it. Below: sse-starlette, which has the headers and the comments.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import cast

import structlog
from sse_starlette.sse import EventSourceResponse
from starlette.types import Message, Receive, Scope, Send

from service.bootstrap import Application, Metrics
from service.turns.events import Event
from service.turns.follower import Outlet
from service.web.negotiation import EVENT_STREAM
from service.web.security_headers import SEND_BODY

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AtOnce:
    """Events that go past a stream's frames, in the moment in which they come.

    `connect` is given what takes them, and `framed` makes bytes of those that come together.
    """

    connect: Callable[[Outlet], None]
    framed: Callable[[Sequence[Event]], bytes]


class EventStream(EventSourceResponse):
    """sse-starlette's response with another way of sending, for the sake of what a token costs.

    The library has a cancel scope around each send, at 14 µs of CPU where a token may cost 47 in all, and four tasks
    for each stream, at 20 KiB. Here a timer looks whether a send has lasted too long, or nothing was sent for long;
    and what is sent has a task of its own, since one that waits within all that stands before the routes is resumed
    through all of it, at each token.
    """

    media_type = EVENT_STREAM
    raw_headers: list[tuple[bytes, bytes]]
    at_once: AtOnce | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it all."""
        if scope["method"] == "HEAD":
            await super().__call__(scope, receive, send)
            return
        metrics = _metrics(scope)
        stream = _Sending(self, send, scope.get(SEND_BODY, send))
        sending = asyncio.create_task(stream.run(), name="send a stream")
        if metrics is not None:
            metrics.stream_opened()
        try:
            # A reader may have left already, and what follows from that is the sending's business.
            await asyncio.sleep(0)
            await _left(receive, sending, stream)
        finally:
            try:
                await _ended(sending)
            finally:
                if metrics is not None:
                    metrics.stream_ended(dropped=stream.is_stuck)
        if stream.is_stuck:
            # The server closes the connection, because the response is incomplete.
            log.info("stream.reader_dropped", path=scope["path"], after_s=self.send_timeout)

    def taken_head(self) -> Message:
        """Give what begins the response, once; what only that needs takes no memory while the stream lasts."""
        headers, self.raw_headers = self.raw_headers, []
        # The library's, for ways of sending that are not used here.
        vars(self).pop("_send_lock", None)
        return {"type": "http.response.start", "status": self.status_code, "headers": headers}

    @property
    def frames(self) -> AsyncGenerator[bytes]:
        """What is sent."""
        return cast(AsyncGenerator[bytes], self.body_iterator)

    @property
    def comment(self) -> bytes:
        """What is sent in a quiet stream now and then."""
        assert self.ping_message_factory is not None  # given where the response is made
        return self.ping_message_factory().encode()


def _metrics(scope: Scope) -> Metrics | None:
    """Give what counts streams, which the lifespan has built; None of a stream that is sent without an application."""
    application = cast("Application | None", scope.get("state", {}).get("application"))
    return None if application is None else application.metrics


async def _left(receive: Receive, sending: asyncio.Task[None], stream: _Sending) -> None:
    """Wait until the reader has left, or the sending has ended, well or not."""
    following = cast("asyncio.Task[object]", asyncio.current_task())
    cancels_before = following.cancelling()
    waits = True

    def sending_ended(_: asyncio.Task[None]) -> None:
        # When all is sent there is no reader any more, and the server says so by itself: no cancelling, which costs.
        if waits and not stream.is_sent:
            following.cancel()

    sending.add_done_callback(sending_ended)
    try:
        while (await receive())["type"] != "http.disconnect":
            pass
    except asyncio.CancelledError:
        if not sending.done() or stream.is_sent or following.uncancel() > cancels_before:
            raise
    finally:
        # It may be on its way already, so that to remove it would not be enough.
        waits = False


async def _ended(sending: asyncio.Task[None]) -> None:
    """End the sending, if it goes on, and raise what it raised; a cancel that comes meanwhile waits for that."""
    cancelled: asyncio.CancelledError | None = None
    sending.cancel()
    while not sending.done():
        try:
            await asyncio.wait({sending})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    if not sending.cancelled():
        sending.result()


class _Sending:
    """What is sent of one response, and since when."""

    def __init__(self, stream: EventStream, send_head: Send, send: Send) -> None:
        self._stream = stream
        self._send_head = send_head
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._ping_s = stream.ping_interval
        self._patience_s = stream.send_timeout or inf
        self._sent_at = self._loop.time()
        # When the send began that goes on now.
        self._since: float | None = None
        self._task: asyncio.Task[None] | None = None
        # What the next frame waits for: a comment that is sent, or what came at once for a reader that was too slow.
        self._aside: asyncio.Future[None] | None = None
        self.is_stuck = False
        self.is_sent = False

    async def run(self) -> None:
        """Send the head, the frames and the end."""
        stream, send, now = self._stream, self._send, self._loop.time
        self._task = asyncio.current_task()
        self._timer = self._loop.call_later(min(self._ping_s, self._patience_s), self._look)
        try:
            await self._send_head(stream.taken_head())
            if stream.at_once is not None:
                stream.at_once.connect(self)
            async for frame in stream.frames:
                if self._aside is not None:
                    await self._aside
                    self._aside = None
                # As below, but without a call: at each token.
                self._since = since = now()
                await send({"type": "http.response.body", "body": frame, "more_body": True})
                self._since, self._sent_at = None, since
        finally:
            self._timer.cancel()
            if self._aside is not None:
                self._aside.cancel()
            # Where a send was broken off, nothing else would end the follower.
            await stream.frames.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        self.is_sent = True

    @property
    def is_free(self) -> bool:
        """Whether nothing is being sent, so that events can be taken."""
        return self._since is None and self._aside is None

    def take(self, events: Sequence[Event]) -> None:
        """Send events without waiting; a reader that is too slow for that gets them by the way of a comment."""
        try:
            assert self._stream.at_once is not None  # or nobody could call this
            frame = self._stream.at_once.framed(events)
            now = self._loop.time()
            if _is_done_at_once(self._send({"type": "http.response.body", "body": frame, "more_body": True})):
                self._sent_at = now
            else:
                self._send_aside(frame)
        except Exception as error:  # not swallowed: it ends this stream, and not the turn whose text this is
            self._aside = self._loop.create_future()
            self._aside.set_exception(error)

    def _send_aside(self, body: bytes) -> None:
        self._since = since = self._loop.time()
        self._aside = asyncio.create_task(self._send_body(body, since), name="send aside of a stream")

    async def _send_body(self, body: bytes, since: float) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": True})
        self._since, self._sent_at = None, since

    def _look(self) -> None:
        now = self._loop.time()
        if self._since is not None:
            look_at = self._since + self._patience_s
            if now >= look_at and self._task is not None:
                self.is_stuck = True
                self._task.cancel()
                return
        else:
            if now - self._sent_at >= self._ping_s:
                self._sent_at = now
                self._send_aside(self._stream.comment)
            look_at = min(now + self._patience_s, self._sent_at + self._ping_s)
        self._timer = self._loop.call_at(look_at, self._look)


def _is_done_at_once(send: Awaitable[None]) -> bool:
    """Carry a send out unless it would wait; then it is given up, and nothing of it has been sent.

    Servers wait before they write, for a connection that takes no more.
    """
    steps = send.__await__()
    try:
        next(steps)
    except StopIteration:
        return True
    steps.close()
    return False
