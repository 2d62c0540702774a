"""Server-sent events: how a record or a signal looks on the wire, and the response that carries them (H6, H7).

Above: the routes. Below: the codec, which gives the JSON, and `event_stream`, which sends it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager

import structlog
from sse_starlette.event import ServerSentEvent
from sse_starlette.sse import AppStatus

from service.codec import encode_reading_signal, encode_signal, encode_stored
from service.core.errors import StoreFailure
from service.core.ids import ReadingId, SessionId, TurnId
from service.core.json_lines import one_line
from service.core.signals import ShuttingDown, StoreBroken
from service.readings.feed import ReadingSignalEvent
from service.readings.follower import ReadingEvent
from service.turns.events import Event, SignalEvent
from service.turns.follower import Outlet
from service.web.event_stream import AtOnce, EventStream

# Sent at once, so that a client knows that it is connected though nothing happens.
OPENING = b"retry: 2000\n\n"
# What is sent at a time, but for a frame that is longer: more of it would wait for a reader that takes nothing (H7).
CHUNK_BYTES = 64 * 1024
# A client that comes back sooner meets a service that still stops (H8).
RETRY_AFTER_SHUTDOWN = b"retry: 5000\n"

Batches = AbstractAsyncContextManager[AsyncIterable[Sequence[Event]]]
ReadingBatches = AbstractAsyncContextManager[AsyncIterable[Sequence[ReadingEvent]]]
AnyEvent = Event | ReadingEvent
"""What is followed: entered once, it gives events that are ready together."""

log = structlog.get_logger(__name__)


def frame(event: AnyEvent) -> bytes:
    """Write one event; only records have an id, because only they can be resumed from."""
    if isinstance(event, SignalEvent):
        data = one_line(encode_signal(event.session, event.turn, event.signal))
    elif isinstance(event, ReadingSignalEvent):
        data = one_line(encode_reading_signal(event.reading, event.signal))
    else:
        data = one_line(encode_stored(event))
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.pos, event.type.encode(), data)
    retry = RETRY_AFTER_SHUTDOWN if isinstance(event.signal, ShuttingDown) else b""
    return b"%sevent: %s\ndata: %s\n\n" % (retry, event.signal.type.encode(), data)


def frames(follower: Batches, session: SessionId | None, turn: TurnId | None) -> AsyncGenerator[bytes]:
    """Write what a follower gives; events that are ready together are sent together, up to a bound."""
    return _frames(follower, SignalEvent(session=session, turn=turn, signal=StoreBroken()))


def reading_frames(follower: ReadingBatches, reading: ReadingId) -> AsyncGenerator[bytes]:
    """Write what a follower of a reading gives, likewise."""
    return _frames(follower, ReadingSignalEvent(reading=reading, signal=StoreBroken()))


async def _frames(
    follower: Batches | ReadingBatches, broken: SignalEvent | ReadingSignalEvent
) -> AsyncGenerator[bytes]:
    yield OPENING
    try:
        async with follower as batches:
            async for batch in batches:
                if len(batch) == 1:
                    yield frame(batch[0])
                    continue
                for chunk in _chunks(batch):
                    yield chunk
    except StoreFailure as error:
        # Too late for a status (H2). The cursor of the client stays good.
        log.error("stream.store_failed", **_whose(broken), reason=str(error))
        yield frame(broken)


def framed(events: Sequence[AnyEvent]) -> bytes:
    """Write events that are ready together."""
    return frame(events[0]) if len(events) == 1 else b"".join(map(frame, events))


def _whose(event: SignalEvent | ReadingSignalEvent) -> dict[str, str | None]:
    return {"session": event.session} if isinstance(event, SignalEvent) else {"reading": event.reading}


def _chunks(batch: Sequence[AnyEvent]) -> Iterator[bytes]:
    parts: list[bytes] = []
    size = 0
    for event in batch:
        parts.append(frame(event))
        size += len(parts[-1])
        if size >= CHUNK_BYTES:
            yield b"".join(parts)
            parts.clear()
            size = 0
    if parts:
        yield b"".join(parts)


def event_stream(
    content: AsyncGenerator[bytes],
    *,
    ping_s: int,
    send_timeout_s: int,
    headers: dict[str, str] | None = None,
    at_once: Callable[[Outlet], None] | None = None,
) -> EventStream:
    """Make the response of a stream of frames; `at_once` is told where text can go past them, as it comes."""
    stream = EventStream(
        content,
        headers=headers,
        ping=ping_s,
        ping_message_factory=lambda: ServerSentEvent(comment="ping", sep="\n"),
        send_timeout=send_timeout_s,
        sep="\n",
    )
    stream.at_once = None if at_once is None else AtOnce(at_once, framed)
    return stream


def leave_shutdown_to_followers() -> None:
    """Keep sse-starlette from cutting streams at SIGTERM: followers say `shutting_down` and end by themselves (H8)."""
    AppStatus.disable_automatic_graceful_drain()
