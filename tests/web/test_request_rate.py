"""K3: the rate of a key's requests over a minute, on a clock that a test moves."""

from __future__ import annotations

import pytest

from service.web.request_rate import RequestRate
from tests.web.hand_time import HandTime

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K3")]


async def taken(rate: RequestRate, key: str, times: int) -> int:
    """Send so many requests; give how many were let through."""
    return [await rate.wait_s(key) for _ in range(times)].count(0)


@pytest.mark.parametrize("per_minute", [1, 2, 20, 1200])
async def test_as_many_are_let_through_in_a_minute_as_are_allowed(hand_time: HandTime, per_minute: int) -> None:
    rate = RequestRate(per_minute)

    assert await taken(rate, "ann", per_minute) == per_minute
    assert await taken(rate, "ann", 3) == 0
    hand_time.now += 59
    assert await taken(rate, "ann", 3) == 0
    hand_time.now += 61
    assert await taken(rate, "ann", per_minute + 3) == per_minute


async def test_each_key_has_a_rate_of_its_own(hand_time: HandTime) -> None:
    rate = RequestRate(2)

    assert [await taken(rate, key, 3) for key in ("ann", "bob", "ann/2")] == [2, 2, 2]


@pytest.mark.parametrize("per_minute", [1, 3, 7, 60, 1200])
@pytest.mark.parametrize("since_the_minute_s", [0.01, 17.3, 59.9])
async def test_whoever_waits_as_long_as_it_is_told_is_let_through(
    hand_time: HandTime, per_minute: int, since_the_minute_s: float
) -> None:
    hand_time.now += since_the_minute_s
    rate = RequestRate(per_minute)
    await taken(rate, "ann", per_minute)

    for _ in range(20):
        wait_s = await rate.wait_s("ann")
        while not wait_s:
            wait_s = await rate.wait_s("ann")
        assert 1 <= wait_s <= 121
        hand_time.now += wait_s

        assert await rate.wait_s("ann") == 0


async def test_what_is_not_let_through_does_not_count(hand_time: HandTime) -> None:
    rate = RequestRate(10)
    await taken(rate, "ann", 1000)
    hand_time.now += 120

    assert await taken(rate, "ann", 20) == 10


async def test_no_more_is_let_through_where_two_minutes_meet(hand_time: HandTime) -> None:
    rate = RequestRate(100)
    hand_time.now += 59.5
    assert await taken(rate, "ann", 200) == 100

    hand_time.now += 1

    assert await taken(rate, "ann", 200) <= 1
