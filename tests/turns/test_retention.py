"""S7: the service deletes old sessions by itself, and says which."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from service.adapters.log_memory import MemoryLog
from service.core.errors import StoreFailure
from service.core.ids import SessionId
from service.turns.retention import KEYS_KEPT, PAGE, forget_keys_each_day, prune, prune_each_day
from tests.adapters.log_contract.sessions_made import START as MADE_AT
from tests.adapters.log_contract.sessions_made import make
from tests.fakes.clock import START, SteppingClock
from tests.fakes.hand_clock import HandClock

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S7")]

DAY_S = 24 * 60 * 60.0


def clock_at(moment: datetime) -> HandClock:
    return HandClock((moment - START).total_seconds())


async def test_what_is_older_than_so_many_days_goes_page_by_page() -> None:
    log = PagesSeen()
    made = [await make(log) for _ in range(2 * PAGE + 1)]
    told: list[SessionId] = []

    assert await prune(log, clock_at(MADE_AT + timedelta(days=30)), 30, deleted=told.append) == 0
    number = await prune(log, clock_at(MADE_AT + timedelta(days=30, seconds=1)), 30, deleted=told.append)

    assert number == len(made)
    assert told == made
    assert log.pages == [0, PAGE, PAGE, 1, 0]
    assert await log.sessions(owner=None, limit=5) == []


async def test_no_days_keep_everything() -> None:
    log = PagesSeen()
    await make(log)

    assert await prune(log, clock_at(MADE_AT + timedelta(days=9999)), 0) == 0
    await asyncio.wait_for(prune_each_day(log, clock_at(MADE_AT + timedelta(days=9999)), 0), 5)

    assert log.pages == []


async def two_days_of(log: PagesSeen, clock: HandClock, told: list[SessionId]) -> None:
    """Run it for a day on which nothing goes, and into the next one."""
    task = asyncio.create_task(prune_each_day(log, clock, 10, deleted=told.append))
    await asyncio.wait_for(clock.asleep.wait(), 5)
    assert told == []
    clock.asleep.clear()
    clock.pass_s(DAY_S)
    await asyncio.wait_for(clock.asleep.wait(), 5)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_it_is_done_at_the_start_and_once_a_day_until_cancelled() -> None:
    log = PagesSeen()
    session = await make(log)
    clock = clock_at(MADE_AT + timedelta(days=9, hours=12))
    told: list[SessionId] = []

    await two_days_of(log, clock, told)

    assert told == [session]
    assert clock.slept == [DAY_S]


@pytest.mark.rules("S5")
async def test_a_day_on_which_the_store_fails_is_followed_by_the_next() -> None:
    log = PagesSeen()
    log.failures = 1
    session = await make(log)
    clock = clock_at(MADE_AT + timedelta(days=11))
    told: list[SessionId] = []

    await two_days_of(log, clock, told)

    assert told == [session]


class PagesSeen(MemoryLog):
    """Remembers how many sessions each page had, and fails as often as it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: list[int] = []
        self.failures = 0

    async def prune(self, before: datetime, *, limit: int) -> Sequence[SessionId]:
        if self.failures:
            self.failures -= 1
            raise StoreFailure("the disk is full")
        page = await super().prune(before, limit=limit)
        self.pages.append(len(page))
        return page


@pytest.mark.rules("H3")
async def test_keys_are_forgotten_after_two_days_and_a_broken_store_is_tried_again_the_next_day() -> None:
    class Breaking(MemoryLog):
        failures = 1

        async def forget_keys(self, before: datetime) -> None:
            if self.failures:
                self.failures -= 1
                raise StoreFailure("the disk is full")
            await super().forget_keys(before)
            forgotten.append(before)
            if len(forgotten) == 2:
                raise asyncio.CancelledError

    forgotten: list[datetime] = []
    clock = SteppingClock()
    with pytest.raises(asyncio.CancelledError):
        await forget_keys_each_day(Breaking(), clock)
    assert clock.slept == [86_400.0, 86_400.0]
    assert all(clock.now() - before >= KEYS_KEPT for before in forgotten)
