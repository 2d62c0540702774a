"""How events look on the wire."""

import json

import pytest

from service.core.errors import StoreFailure
from service.core.ids import SessionId, TurnId
from service.core.signals import ContentDelta, Queued, Resync, ShuttingDown
from service.turns.events import Event, SignalEvent
from service.web.sse import OPENING, frame, frames
from tests.web.fakes import SESSION, TURN, FakeFollower, stored

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H6")]

SEPARATORS = "a\u2028b\u2029c\u0085d\r\n\re"


def signal(text: str = "Hi") -> SignalEvent:
    return SignalEvent(session=SESSION, turn=TURN, signal=ContentDelta(step=1, text=text, offset=0))


def test_a_record_is_one_block_with_its_place_as_id() -> None:
    assert frame(stored(2, content="Hi")) == (
        b"id: 20\n"
        b"event: user\n"
        b'data: {"content":"Hi","seq":2,"session":"ses_1","time":"2026-01-02T12:00:00.000000Z",'
        b'"turn":"trn_1","type":"user","pos":20}\n'
        b"\n"
    )


def test_a_signal_has_no_id() -> None:
    assert frame(signal()) == (
        b'event: content\ndata: {"type":"content","session":"ses_1","turn":"trn_1","step":1,"text":"Hi","offset":0}\n\n'
    )


@pytest.mark.parametrize("event", [stored(2, content=SEPARATORS), signal(SEPARATORS)], ids=["record", "signal"])
def test_no_reader_finds_the_end_of_a_line_within_data(event: Event) -> None:
    lines = frame(event).decode().splitlines()
    data = json.loads(next(line for line in lines if line.startswith("data: ")).removeprefix("data: "))

    assert [line.partition(":")[0] for line in lines if line] == (
        ["id", "event", "data"] if "seq" in data else ["event", "data"]
    )
    assert (data.get("text") or data["content"]) == SEPARATORS


@pytest.mark.rules("H8")
def test_the_farewell_of_a_service_that_stops_delays_the_next_attempt() -> None:
    farewell = frame(SignalEvent(session=SESSION, turn=None, signal=ShuttingDown()))

    assert farewell.startswith(b"retry: 5000\nevent: shutting_down\ndata: {")


async def test_what_is_ready_together_is_one_chunk() -> None:
    first, second = [stored(2), signal()], [SignalEvent(session=SESSION, turn=TURN, signal=Queued(position=1))]

    chunks = [chunk async for chunk in frames(FakeFollower(first, second), SESSION, TURN)]

    assert chunks == [OPENING, frame(first[0]) + frame(first[1]), frame(second[0])]


async def test_the_first_chunk_comes_before_anything_happens() -> None:
    waiting = FakeFollower(ends=False)
    stream = frames(waiting, SESSION, TURN)

    assert await anext(stream) == b"retry: 2000\n\n"
    await stream.aclose()


@pytest.mark.rules("S5")
async def test_a_store_that_fails_in_mid_stream_is_told_as_an_event() -> None:
    follower = FakeFollower([stored(2)], ends=False)
    follower.fail(StoreFailure("disk full"))

    chunks = [chunk async for chunk in frames(follower, SESSION, TURN)]

    assert chunks[-1] == b'event: store_error\ndata: {"type":"store_error","session":"ses_1","turn":"trn_1"}\n\n'
    assert follower.left.is_set()


def test_a_resync_names_the_last_place() -> None:
    event = SignalEvent(session=SessionId("s"), turn=TurnId("t"), signal=Resync(last_pos=9))

    assert b'"last_pos":9' in frame(event)
    assert b"id:" not in frame(event)
