"""Who runs and who waits, beside what the server tells of itself (L9, L10)."""

from __future__ import annotations

import asyncio

import pytest

from service.access.gate import Holder
from service.core.ids import LOCAL_OWNER
from tests.fakes.house import House
from tests.fakes.llama import GONE, PROFILE, ScriptedLlama, say

pytestmark = [pytest.mark.anyio, pytest.mark.rules("L9", "L10")]


async def test_the_view_names_who_runs_and_who_waits() -> None:
    busy = say("Busy", before_end=asyncio.Event())
    house = House(ScriptedLlama(busy, say("Next."), slots=1))
    first, second = await house.session(), await house.session()
    running = await house.start(first)
    await busy.streaming.wait()
    waiting = await house.start(second)
    following = await house.sessions.follow(second, LOCAL_OWNER, turn=waiting, after_pos=None)
    assert following is not None
    async with following:
        async for batch in following:
            if any(getattr(getattr(event, "signal", None), "type", None) == "queued" for event in batch):
                break

    now = await house.turns.server_view.now(LOCAL_OWNER)

    assert now.running == (Holder(owner=LOCAL_OWNER, session=first, turn=running, step=1),)
    assert now.queued == (Holder(owner=LOCAL_OWNER, session=second, turn=waiting, step=1),)
    assert ([slot.processing for slot in now.slots], now.permits, now.message) == ([True], 1, None)
    assert (now.template, bool(now.words)) == (PROFILE, True)
    assert busy.before_end is not None
    busy.before_end.set()
    await house.finish(second, waiting)
    after = await house.turns.server_view.now(LOCAL_OWNER)
    assert (after.running, after.queued) == ((), ())


async def test_a_server_that_is_away_leaves_what_is_known() -> None:
    llama = ScriptedLlama()
    house = House(llama)
    llama.away = GONE

    now = await house.turns.server_view.now(LOCAL_OWNER)

    assert (now.slots, now.message, now.template, now.words) == ((), "llama-server is away", None, ())
