"""Readings whose store fails: they end visibly, or go on when it works again, and nothing half is kept (S5)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

import pytest

from service.adapters.log_memory import MemoryLog
from service.core.errors import ErrorKind, StoreFailure
from service.core.ids import LOCAL_OWNER, ReadingId
from service.core.reading.records import ReadingOutcome, ReadingUsage
from service.core.reading.status import ReadingState, ReadingStatus
from service.core.signals import StoreBroken
from service.ports import ReadingDraft, StoredReadingRecord
from service.readings.feed import ReadingSignalEvent
from tests.readings.reader_llama import AskedChunk, ReaderLlama
from tests.readings.reading_house import BOUND_S, ReadingHouse, document, retain, update

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S5", "R5")]

BOOK = document(*["something"] * 6)


class FailingLog(MemoryLog):
    """A store whose appends fail from the one with this number on (from 1), as often as it is told."""

    def __init__(self, *, fails_at: int, times: int) -> None:
        super().__init__()
        self.fails_at = fails_at
        self.times = times
        self.appends = 0

    async def append_to_reading(
        self,
        reading: ReadingId,
        expected_seq: int,
        records: Sequence[ReadingDraft],
        status: ReadingStatus,
        now: datetime,
    ) -> Sequence[StoredReadingRecord]:
        self.appends += 1
        if self.appends >= self.fails_at and self.times > 0:
            self.times -= 1
            raise StoreFailure("the disk is full")
        return await super().append_to_reading(reading, expected_seq, records, status, now)


def says(asked: AskedChunk) -> str:
    return update("Found.") if "Part 2" in asked.section else retain()


async def test_a_write_that_fails_once_fails_the_reading_and_keeps_what_was_read() -> None:
    house = ReadingHouse(ReaderLlama(says), log=FailingLog(fails_at=4, times=1))

    view = await house.read(BOOK)

    assert view.status.outcome is ReadingOutcome.FAILED
    assert view.status.error is not None
    assert (view.status.error.kind, view.status.chunks_seen) == (ErrorKind.STORE, 2)
    records = await house.records(view.id)
    assert len([record for record in records if isinstance(record, ReadingUsage)]) == 2
    # The next one works.
    assert (await house.read(BOOK)).status.outcome is ReadingOutcome.ANSWERED


async def test_a_store_that_stays_broken_ends_the_streams_and_the_reading_goes_on_with_the_next_start() -> None:
    log = FailingLog(fails_at=4, times=2)
    house = ReadingHouse(ReaderLlama(says), log=log)
    reading = await house.begin(BOOK)
    following = await house.readings.follow(reading, LOCAL_OWNER, after_pos=None)
    assert following is not None

    async with asyncio.timeout(BOUND_S), following:
        seen = [event async for batch in following for event in batch]

    assert isinstance(seen[-1], ReadingSignalEvent)
    assert isinstance(seen[-1].signal, StoreBroken)
    assert (await house.readings.view(reading, LOCAL_OWNER)).status.state is ReadingState.RUNNING
    again = ReadingHouse(ReaderLlama(says), log=log, ids=house.ids)
    await again.readings.resume_unfinished()
    view = await again.finish(reading)
    assert (view.status.outcome, view.status.chunks_seen) == (ReadingOutcome.ANSWERED, 6)
    assert len(again.llama.chunks) == 4


async def test_one_that_is_left_open_by_its_store_can_be_cancelled() -> None:
    log = FailingLog(fails_at=4, times=2)
    house = ReadingHouse(ReaderLlama(says), log=log)
    reading = await house.begin(BOOK)
    await house.finish(reading)

    view, was_over = await house.readings.cancel(reading, LOCAL_OWNER)

    assert not was_over
    assert view.status.outcome is ReadingOutcome.CANCELLED
    assert view.status.chunks_seen == 2


async def test_a_reading_that_could_not_be_kept_is_not_begun() -> None:
    class NoNewLog(MemoryLog):
        async def create_reading(self, *_args: object, **_kwargs: object) -> Sequence[StoredReadingRecord]:
            raise StoreFailure("the disk is full")

    house = ReadingHouse(ReaderLlama(says), log=NoNewLog())

    with pytest.raises(StoreFailure):
        await house.begin(BOOK)

    assert house.llama.calls == 0
    assert (await house.readings.page(LOCAL_OWNER, limit=5, after=None))[0] == []


async def test_a_defect_of_ours_ends_the_reading_as_failed() -> None:
    def breaks(asked: AskedChunk) -> str:
        raise RuntimeError("a defect")

    view = await ReadingHouse(ReaderLlama(breaks)).read(BOOK)

    assert view.status.outcome is ReadingOutcome.FAILED
    assert view.status.error is not None
    assert view.status.error.kind is ErrorKind.INTERNAL
    assert "defect" not in view.status.error.message
