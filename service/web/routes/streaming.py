"""A follower as a response, for all routes that stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from fastapi import Response

from service.config import Settings
from service.core.ids import ReadingId, SessionId, TurnId
from service.turns.follower import Follower, Outlet
from service.web.schemas.events import READING_EVENT, TURN_EVENT, streamed
from service.web.sse import Batches, ReadingBatches, event_stream, frames, reading_frames

TURN_STREAM = streamed(TURN_EVENT)
READING_STREAM = streamed(READING_EVENT)
"""What the OpenAPI document says of these streams."""


def stream_of(
    follower: Batches | None,
    session: SessionId | None,
    turn: TurnId | None,
    settings: Settings,
    headers: dict[str, str] | None = None,
    when_left: Callable[[], None] | None = None,
) -> Response:
    """Stream what a follower gives; without one there is nothing left to come, which ends an EventSource (H6).

    `when_left` is called when the reader goes before the end (H5).
    """
    content = None if follower is None else frames(follower, session, turn)
    at_once = follower.tell_at_once if isinstance(follower, Follower) else None
    return _stream(content, settings, headers, when_left, at_once)


def stream_of_reading(
    follower: ReadingBatches | None,
    reading: ReadingId,
    settings: Settings,
    headers: dict[str, str] | None = None,
    when_left: Callable[[], None] | None = None,
) -> Response:
    """Stream what a follower of a reading gives, likewise."""
    content = None if follower is None else reading_frames(follower, reading)
    return _stream(content, settings, headers, when_left)


def _stream(
    content: AsyncGenerator[bytes] | None,
    settings: Settings,
    headers: dict[str, str] | None,
    when_left: Callable[[], None] | None,
    at_once: Callable[[Outlet], None] | None = None,
) -> Response:
    if content is None:
        return Response(status_code=204, headers=headers)
    return event_stream(
        content if when_left is None else _watched(content, when_left),
        ping_s=settings.sse_ping_s,
        send_timeout_s=settings.sse_send_timeout_s,
        headers=headers,
        at_once=at_once,
    )


async def _watched(content: AsyncGenerator[bytes], when_left: Callable[[], None]) -> AsyncGenerator[bytes]:
    ended = False
    try:
        async with aclosing(content):
            async for chunk in content:
                yield chunk
        ended = True
    finally:
        if not ended:
            when_left()
