"""One look at the slots for all that wait, not too often, and none that nobody waits for (L2)."""

from __future__ import annotations

import asyncio

import pytest

from service.adapters.llama.slots import Look
from service.adapters.llama.slots_poller import SlotsPoller
from service.core.head_wait import Sight
from tests.adapters.scripted_llama import BOUND_S

pytestmark = [pytest.mark.anyio, pytest.mark.rules("L2")]


class Slots:
    """Slots that answer when a test lets them."""

    def __init__(self) -> None:
        self.asked_at: list[float] = []
        self.asked = asyncio.Event()
        self.answered = asyncio.Event()
        self.broken_off = 0
        self.in_flight = 0

    async def look(self) -> Look:
        assert self.in_flight == 0
        self.in_flight += 1
        self.asked_at.append(asyncio.get_running_loop().time())
        self.asked.set()
        try:
            await self.answered.wait()
        except asyncio.CancelledError:
            self.broken_off += 1
            raise
        finally:
            self.in_flight -= 1
        return Look(sight=Sight.NO_SLOT_WORKS)


async def watch(poller: SlotsPoller, looks: int = 1) -> list[Look]:
    async with asyncio.timeout(BOUND_S), poller.watching():
        return [await asyncio.shield(poller.next_look()) for _ in range(looks)]


async def test_all_that_wait_share_one_look() -> None:
    slots = Slots()
    poller = SlotsPoller(slots.look, poll_ms=50)
    waiting = [asyncio.create_task(watch(poller)) for _ in range(200)]
    await slots.asked.wait()
    late = asyncio.create_task(watch(poller))
    await asyncio.sleep(0)

    slots.answered.set()
    answers = [answer for looks in await asyncio.gather(*waiting, late) for answer in looks]

    assert len(answers) == 201
    assert all(answer is answers[0] for answer in answers)
    assert len(slots.asked_at) == 1


async def test_two_looks_lie_apart_whoever_asks() -> None:
    time, asked_at = 100.0, list[float]()

    async def sleep(seconds: float) -> None:
        nonlocal time
        await asyncio.sleep(0)
        time += max(0.0, seconds)

    async def look() -> Look:
        nonlocal time
        asked_at.append(time)
        time += 0.02
        return Look(sight=Sight.NO_SLOT_WORKS)

    poller = SlotsPoller(look, poll_ms=60, sleep=sleep, now=lambda: time)
    await asyncio.gather(watch(poller, 3), watch(poller, 3))
    await watch(poller)

    assert asked_at == pytest.approx([100, 100.06, 100.12, 100.18])


async def test_a_look_is_broken_off_when_the_last_one_leaves_and_not_before() -> None:
    slots = Slots()
    poller = SlotsPoller(slots.look, poll_ms=50)
    first, second = (asyncio.create_task(watch(poller)) for _ in range(2))
    await slots.asked.wait()

    first.cancel()
    await asyncio.wait({first})
    assert (slots.broken_off, slots.in_flight) == (0, 1)
    second.cancel()
    await asyncio.wait({second})

    assert (slots.broken_off, slots.in_flight) == (1, 0)


async def test_nothing_is_asked_when_the_last_one_leaves_before_the_time_of_a_look() -> None:
    slots = Slots()
    slots.answered.set()
    poller = SlotsPoller(slots.look, poll_ms=100_000)
    await watch(poller)

    waiting = asyncio.create_task(watch(poller))
    for _ in range(5):
        await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})

    assert len(slots.asked_at) == 1
    assert "look at the slots" not in {task.get_name() for task in asyncio.all_tasks()}
