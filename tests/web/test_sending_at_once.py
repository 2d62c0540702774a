"""What comes at once is sent past the frames of a stream, behind what was sent before, and harms nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest
from starlette.types import Message

from service.core.signals import ContentDelta
from service.turns.events import Event, SignalEvent
from service.turns.follower import Outlet
from service.web.event_stream import AtOnce, EventStream
from service.web.sse import event_stream
from tests.web.fakes import SESSION, TURN
from tests.web.serving import BOUND_S

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H7")]

SCOPE = {"type": "http", "method": "GET", "path": "/events"}


def said(text: str) -> list[Event]:
    return [SignalEvent(session=SESSION, turn=TURN, signal=ContentDelta(step=1, text=text, offset=0))]


class FakeReader:
    """A connection; while `takes_more` is not set, whoever sends waits before anything is written."""

    def __init__(self) -> None:
        self.takes_more = asyncio.Event()
        self.takes_more.set()
        self.waits = asyncio.Event()
        self.got = b""
        self._whole = asyncio.Event()

    async def receive(self) -> Message:
        await self._whole.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if not self.takes_more.is_set():
            self.waits.set()
            await self.takes_more.wait()
        self.got += message.get("body", b"")
        if message["type"] == "http.response.body" and not message["more_body"]:
            self._whole.set()


class Source:
    """Frames that come one by one, when they are let, and the outlet past them."""

    def __init__(self) -> None:
        self.outlet: Outlet | None = None
        self.waits = asyncio.Event()
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue()

    def connect(self, outlet: Outlet) -> None:
        self.outlet = outlet

    def let(self, frame: bytes | None) -> None:
        self._frames.put_nowait(frame)

    async def frames(self) -> AsyncGenerator[bytes]:
        while True:
            self.waits.set()
            frame = await self._frames.get()
            if frame is None:
                return
            yield frame

    async def at_rest(self) -> Outlet:
        """Wait until all frames that were let are sent."""
        self.waits.clear()
        self.let(b"")
        await asyncio.wait_for(self.waits.wait(), BOUND_S)
        assert self.outlet is not None
        return self.outlet


def stream_of(source: Source) -> EventStream:
    stream = event_stream(source.frames(), ping_s=600, send_timeout_s=600)
    stream.at_once = AtOnce(source.connect, _texts)
    return stream


def begun() -> tuple[Source, FakeReader, asyncio.Task[None]]:
    """Begin to send a stream."""
    source, reader = Source(), FakeReader()
    return source, reader, asyncio.create_task(stream_of(source)(SCOPE, reader.receive, reader.send))


def _texts(events: Sequence[Event]) -> bytes:
    text = b""
    for event in events:
        assert isinstance(event, SignalEvent)
        assert isinstance(event.signal, ContentDelta)
        text += event.signal.text.encode()
    if text == b"broken":
        raise ValueError("no text can be made of this")
    return text


async def test_events_are_sent_before_the_call_returns() -> None:
    source, reader, sending = begun()
    source.let(b"a ")

    outlet = await source.at_rest()
    outlet.take(said("b "))

    assert reader.got == b"a b "
    assert outlet.is_free
    source.let(None)
    await sending


async def test_a_slow_reader_gets_what_was_taken_before_the_frames_that_follow() -> None:
    source, reader, sending = begun()
    source.let(b"a ")
    outlet = await source.at_rest()

    reader.takes_more.clear()
    outlet.take(said("b "))
    assert not outlet.is_free
    source.let(b"c ")
    await asyncio.wait_for(reader.waits.wait(), BOUND_S)
    assert reader.got == b"a "
    reader.takes_more.set()
    await source.at_rest()

    assert reader.got == b"a b c "
    # What follows can be taken again.
    assert outlet.is_free
    source.let(None)
    await sending


async def test_nothing_is_taken_while_a_frame_is_being_sent() -> None:
    source, reader, sending = begun()
    outlet = await source.at_rest()

    reader.takes_more.clear()
    source.let(b"a ")
    await asyncio.wait_for(reader.waits.wait(), BOUND_S)
    assert not outlet.is_free
    reader.takes_more.set()
    await source.at_rest()

    assert outlet.is_free
    source.let(None)
    await sending


async def test_what_cannot_be_sent_ends_its_own_stream_and_not_the_one_who_gave_it() -> None:
    source, reader, sending = begun()
    outlet = await source.at_rest()

    outlet.take(said("broken"))
    assert not outlet.is_free
    source.let(b"more")

    with pytest.raises(ValueError, match="no text"):
        await sending
    assert reader.got == b""
