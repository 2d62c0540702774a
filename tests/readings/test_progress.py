"""What a follower is told while a reading goes on: chunks, words as they come, progress with the time left (R2, H6)."""

from __future__ import annotations

import asyncio

import pytest

from service.access.gate import Holder
from service.core.ids import LOCAL_OWNER
from service.core.reading.signals import ChunkStarted, PartialReply, ReadingProgress, ReadingText
from service.ports import StoredReadingRecord
from service.readings.feed import ReadingSignalEvent
from tests.fakes.clock import SteppingClock
from tests.readings.reader_llama import RETAIN, AskedChunk, ReaderLlama
from tests.readings.reading_house import BOUND_S, ReadingHouse, document

pytestmark = [pytest.mark.anyio, pytest.mark.rules("R2")]


class TickingClock(SteppingClock):
    """Each chunk takes two seconds."""

    def tick(self) -> None:
        self.seconds += 2


async def test_progress_tells_the_rate_and_the_time_left() -> None:
    clock = TickingClock()

    def reads(_: AskedChunk) -> str:
        clock.tick()
        return RETAIN

    house = ReadingHouse(ReaderLlama(reads), clock=clock)
    reading = await house.begin(document(*["more"] * 4))
    following = await house.readings.follow(reading, LOCAL_OWNER, after_pos=None, live=True)
    assert following is not None
    async with asyncio.timeout(BOUND_S), following:
        events = [event async for batch in following for event in batch]

    signals = [event.signal for event in events if isinstance(event, ReadingSignalEvent)]
    progress = [signal for signal in signals if isinstance(signal, ReadingProgress)]
    assert progress
    for told in progress:
        assert told.chunks == 4
        assert told.left_s == 2.0 * (4 - told.chunks_seen)
        assert told.tokens_per_second is not None
        assert told.tokens_per_second > 50
    records = [event for event in events if isinstance(event, StoredReadingRecord)]
    assert [record.seq for record in records] == list(range(1, len(records) + 1))


async def test_the_one_who_began_it_is_told_each_piece_and_one_who_comes_later_the_text_so_far() -> None:
    llama = ReaderLlama(lambda _: RETAIN)
    holds, held = asyncio.Event(), asyncio.Event()

    def before() -> asyncio.Event | None:
        held.set()
        return holds

    llama.before_each = before
    house = ReadingHouse(llama)
    reading = await house.begin(document("a"))
    following = await house.readings.follow(reading, LOCAL_OWNER, after_pos=None, live=True)
    assert following is not None
    await held.wait()
    assert house.gate.holders == (Holder(owner=LOCAL_OWNER, reading=reading, chunk=1),)
    holds.set()
    async with asyncio.timeout(BOUND_S), following:
        events = [event async for batch in following for event in batch]

    signals = [event.signal for event in events if isinstance(event, ReadingSignalEvent)]
    assert [signal.chunk for signal in signals if isinstance(signal, ChunkStarted)] == [1]
    texts = [signal for signal in signals if isinstance(signal, ReadingText)]
    assert not any(isinstance(signal, PartialReply) for signal in signals)
    assert texts
    told = 0
    for text in texts:
        assert text.offset == told
        told += len(text.text)
    assert RETAIN.startswith("".join(text.text for text in texts))
