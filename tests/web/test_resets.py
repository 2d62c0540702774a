"""Streams that clients reset leave neither a task nor a follower behind, whatever else they sent (H5, H7)."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter

import pytest

from service.turns.follower import Follower
from service.turns.store_follower import StoreFollower
from service.turns.waker import Waker
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, say
from tests.web.leaving_client import LeavingClient
from tests.web.serving import Served
from tests.web.test_leaving_clients import gone
from tests.web.test_whole_way import served_house

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H5", "H7")]

STREAMS = 100
KINDS = (Follower, StoreFollower, Waker)


def left() -> Counter[str]:
    """Count what follows anything in this process."""
    gc.collect()
    return Counter(type(thing).__name__ for thing in gc.get_objects() if isinstance(thing, KINDS))


async def reset_one(service: Served, path: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    client = LeavingClient(reader, writer)
    assert (await client.head()).startswith("HTTP/1.1 200 ")
    client.leave("resets")


@pytest.mark.parametrize("whole_store", [False, True], ids=["of a session", "of all"])
async def test_streams_that_are_reset_leave_nothing_behind(whole_store: bool) -> None:
    house = House(ScriptedLlama(say("Hello.")))
    session = await house.session()
    await house.run(session)
    path = "/events" if whole_store else f"/sessions/{session}/events"
    async with served_house(house) as service:
        await reset_one(service, path)
        await gone(service)
        tasks, following = len(asyncio.all_tasks()), left()
        await asyncio.gather(*[reset_one(service, path) for _ in range(STREAMS)])
        await gone(service)

        assert len(asyncio.all_tasks()) == tasks
        assert left() == following
