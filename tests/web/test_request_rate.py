"""K3: the rate of a key's requests over a minute, on a clock that a test moves."""

from __future__ import annotations

import pytest
from limits.aio import strategies
from limits.aio.storage import memory

from service.web import request_rate
from service.web.request_rate import RequestRate

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K3")]

# The beginning of a minute, as the library divides time.
MINUTE = 30_000_000 * 60.0


class HandTime:
    """The module `time` as the library and ours ask it."""

    def __init__(self) -> None:
        self.now = MINUTE

    def time(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> HandTime:
    by_hand = HandTime()
    for asking in (memory, strategies, request_rate):
        monkeypatch.setattr(asking, "time", by_hand)
    return by_hand


async def taken(rate: RequestRate, key: str, times: int) -> int:
    """Send so many requests; give how many were let through."""
    return [await rate.wait_s(key) for _ in range(times)].count(0)


@pytest.mark.parametrize("per_minute", [1, 2, 20, 1200])
async def test_as_many_are_let_through_in_a_minute_as_are_allowed(time: HandTime, per_minute: int) -> None:
    rate = RequestRate(per_minute)

    assert await taken(rate, "ann", per_minute) == per_minute
    assert await taken(rate, "ann", 3) == 0
    time.now += 59
    assert await taken(rate, "ann", 3) == 0
    time.now += 61
    assert await taken(rate, "ann", per_minute + 3) == per_minute


async def test_each_key_has_a_rate_of_its_own(time: HandTime) -> None:
    rate = RequestRate(2)

    assert [await taken(rate, key, 3) for key in ("ann", "bob", "ann/2")] == [2, 2, 2]


@pytest.mark.parametrize("per_minute", [1, 3, 7, 60, 1200])
@pytest.mark.parametrize("since_the_minute_s", [0.01, 17.3, 59.9])
async def test_whoever_waits_as_long_as_it_is_told_is_let_through(
    time: HandTime, per_minute: int, since_the_minute_s: float
) -> None:
    time.now += since_the_minute_s
    rate = RequestRate(per_minute)
    await taken(rate, "ann", per_minute)

    for _ in range(20):
        wait_s = await rate.wait_s("ann")
        while not wait_s:
            wait_s = await rate.wait_s("ann")
        assert 1 <= wait_s <= 121
        time.now += wait_s

        assert await rate.wait_s("ann") == 0


async def test_what_is_not_let_through_does_not_count(time: HandTime) -> None:
    rate = RequestRate(10)
    await taken(rate, "ann", 1000)
    time.now += 120

    assert await taken(rate, "ann", 20) == 10


async def test_no_more_is_let_through_where_two_minutes_meet(time: HandTime) -> None:
    rate = RequestRate(100)
    time.now += 59.5
    assert await taken(rate, "ann", 200) == 100

    time.now += 1

    assert await taken(rate, "ann", 200) <= 1
