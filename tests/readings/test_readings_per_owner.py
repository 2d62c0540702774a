"""K3: an owner has no more readings that go on than are allowed, and each end gives a place back."""

from __future__ import annotations

import asyncio

import pytest

from service.adapters.log_memory import MemoryLog
from service.core.errors import ProblemCode, RequestRefused, StoreFailure
from service.core.ids import LOCAL_OWNER, OwnerId, ReadingId
from service.core.owner_bounds import OwnerBounds
from service.core.reading.options import ReadingOptions
from service.core.reading.records import ReadingOutcome
from service.core.reading.status import ReadingState
from service.core.request_key import RequestKey
from service.readings.requests import ReadingAsked
from tests.fakes.clock import CountingIds
from tests.readings.moments import HeldLlama, Moments
from tests.readings.reading_house import BOUND_S, CHUNK_TOKENS, ReadingHouse, document, retain
from tests.web.stepped import settle

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K3")]

ANN = OwnerId("ann")
BOOK = document("something", "nothing")
OPTIONS = ReadingOptions(level=1, memory_budget=64, chunk_tokens=CHUNK_TOKENS)


class LaterIds(CountingIds):
    """Ids of a second process: they don't meet those of the first."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 1000


async def begin(house: ReadingHouse, owner: OwnerId = LOCAL_OWNER, key: RequestKey | None = None) -> ReadingId:
    asked = ReadingAsked(query="Where?", documents=[BOOK], options=OPTIONS)
    async with asyncio.timeout(BOUND_S):
        return await house.readings.create(asked, owner, key)


async def assert_full(house: ReadingHouse, owner: OwnerId = LOCAL_OWNER) -> None:
    before = len(await house.log.readings(owner=owner, limit=100))
    with pytest.raises(RequestRefused) as refused:
        await begin(house, owner)
    assert refused.value.code is ProblemCode.QUEUE_FULL
    assert "readings_per_owner" in refused.value.detail
    assert refused.value.retry_after_s is not None
    assert len(await house.log.readings(owner=owner, limit=100)) == before


class HeldReadings:
    """A house whose readings all wait until the test lets them go on."""

    def __init__(self, most: int, log: MemoryLog | None = None, ids: CountingIds | None = None) -> None:
        self.go_on = asyncio.Event()
        llama = HeldLlama(lambda _: retain())
        llama.moments = Gate(self.go_on)
        self.house = ReadingHouse(llama, log=log, ids=ids, bounds=OwnerBounds(readings=most))


class Gate(Moments):
    """Holds every answer until it is opened."""

    def __init__(self, opened: asyncio.Event) -> None:
        super().__init__()
        self._opened = opened

    async def moment(self, name: str) -> None:
        if name == "asked":
            await self._opened.wait()


async def test_as_many_go_on_as_are_allowed_for_each_owner_until_one_ends() -> None:
    held = HeldReadings(2)
    readings = {owner: [await begin(held.house, owner) for _ in range(2)] for owner in (LOCAL_OWNER, ANN)}
    for owner in readings:
        await assert_full(held.house, owner)

    held.go_on.set()
    for reading in readings[LOCAL_OWNER]:
        await held.house.finish(reading)

    held.go_on.clear()
    for _ in range(2):
        await begin(held.house)
    await assert_full(held.house)


async def test_whoever_was_told_of_an_end_may_begin_another_at_once() -> None:
    held = HeldReadings(1)
    held.go_on.set()
    for _ in range(5):
        reading = await begin(held.house)
        row = await held.house.log.reading(reading)
        async with asyncio.timeout(BOUND_S):
            while row is None or row.status.state is not ReadingState.FINISHED:
                await asyncio.sleep(0)
                row = await held.house.log.reading(reading)


async def test_a_reading_that_is_cancelled_gives_its_place_back() -> None:
    held = HeldReadings(1)
    reading = await begin(held.house)
    await assert_full(held.house)

    view, _ = await held.house.readings.cancel(reading, LOCAL_OWNER)

    assert view.status.outcome is ReadingOutcome.CANCELLED
    await begin(held.house)
    await assert_full(held.house)


async def test_of_readings_that_are_asked_for_at_once_no_more_begin_than_are_allowed() -> None:
    held = HeldReadings(3)

    ended = await asyncio.gather(*(begin(held.house) for _ in range(8)), return_exceptions=True)

    assert sum(isinstance(end, RequestRefused) for end in ended) == 5
    assert len(await held.house.log.readings(owner=LOCAL_OWNER, limit=100)) == 3


async def test_a_reading_that_does_not_fit_takes_no_place() -> None:
    held = HeldReadings(1)
    asked = ReadingAsked(query="word " * 4096, documents=[BOOK], options=OPTIONS)
    for _ in range(2):
        with pytest.raises(RequestRefused) as refused:
            await held.house.readings.create(asked, LOCAL_OWNER)
        assert refused.value.code is ProblemCode.VALIDATION

    await begin(held.house)


class BrokenLog(MemoryLog):
    """Can't keep a new reading."""

    broken = True

    async def create_reading(self, *what: object, **how: object):  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.broken:
            raise StoreFailure("the disk is full")
        return await super().create_reading(*what, **how)  # pyright: ignore[reportArgumentType]


async def test_a_reading_that_could_not_be_kept_takes_no_place() -> None:
    log = BrokenLog()
    held = HeldReadings(1, log=log)
    with pytest.raises(StoreFailure):
        await begin(held.house)
    log.broken = False

    await begin(held.house)
    await assert_full(held.house)


class FullLog(MemoryLog):
    """Keeps nothing more of a reading than that it was begun, until there is room."""

    full = True

    async def append_to_reading(self, *what: object, **how: object):  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.full:
            raise StoreFailure("the disk is full")
        return await super().append_to_reading(*what, **how)  # pyright: ignore[reportArgumentType]


async def test_a_reading_that_a_failing_store_stopped_takes_no_place_until_the_next_start() -> None:
    log = FullLog()
    held = HeldReadings(1, log=log)
    held.go_on.set()
    reading = await begin(held.house)
    async with asyncio.timeout(BOUND_S):
        await held.house.readings.wait(reading, LOCAL_OWNER)
    # Its task ends just behind that.
    await settle()
    held.go_on.clear()
    log.full = False

    await begin(held.house)
    await assert_full(held.house)


async def test_a_repeated_request_is_given_its_reading_though_no_other_may_begin() -> None:
    held = HeldReadings(1)
    key = RequestKey(owner=LOCAL_OWNER, method="POST", path="/readings", key="k", body=b"h")
    reading = await begin(held.house, key=key)

    assert await begin(held.house, key=key) == reading


async def test_what_a_start_goes_on_with_is_not_refused_and_counts() -> None:
    log = MemoryLog()
    before = HeldReadings(0, log=log)
    readings = [await begin(before.house, owner) for owner in (ANN, ANN, LOCAL_OWNER)]
    await before.house.readings.shut_down()
    held = HeldReadings(2, log=log, ids=LaterIds())

    await held.house.readings.resume_unfinished()

    await assert_full(held.house, ANN)
    await begin(held.house)
    await assert_full(held.house)
    held.go_on.set()
    for reading in readings[:2]:
        async with asyncio.timeout(BOUND_S):
            view = await held.house.readings.wait(reading, ANN)
        assert view.status.outcome is not None
    await begin(held.house, ANN)
