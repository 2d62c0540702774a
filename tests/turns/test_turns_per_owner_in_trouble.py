"""K3: no failing store, leaving client, deletion or restart takes an owner's places for turns, or gives away more."""

from __future__ import annotations

import asyncio

import pytest

from service.adapters.log_memory import MemoryLog
from service.core.errors import RequestRefused, StoreFailure
from service.core.ids import LOCAL_OWNER
from service.core.owner_bounds import OwnerBounds
from service.core.records import Outcome
from service.turns.requests import OnBusy
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.turns.approving import asking_port
from tests.turns.owners_turns import BOUND_S, assert_full, finish, held, house_of, let_go, start
from tests.turns.test_recovery import LaterIds

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K3")]


async def test_a_message_that_is_refused_for_something_else_takes_no_place() -> None:
    first = held()
    house = house_of(1, first)
    session = await house.session()
    for _ in range(3):
        with pytest.raises(RequestRefused):
            await start(house, session, limits={"tool_iterations": 10**6})
        with pytest.raises(RequestRefused):
            await start(house, session, on_busy=OnBusy.QUEUE, limits={"tool_iterations": 10**6})

    await start(house, session)
    await assert_full(house, await house.session())


class FailingLog(MemoryLog):
    """Fails the next appends."""

    failures = 0

    async def append(self, *what: object, **how: object):  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.failures:
            self.failures -= 1
            raise StoreFailure("the disk is full")
        return await super().append(*what, **how)  # pyright: ignore[reportArgumentType]


async def test_a_message_that_could_not_be_written_takes_no_place() -> None:
    log = FailingLog()
    house = house_of(1, held(), log=log)
    session = await house.session()
    log.failures = 1
    with pytest.raises(StoreFailure):
        await start(house, session)

    await start(house, session)
    await assert_full(house, await house.session())


class SlowLog(MemoryLog):
    """Holds the next append until it may go on; what is held is written all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.held: asyncio.Event | None = None
        self.reached = asyncio.Event()

    async def append(self, *what: object, **how: object):  # pyright: ignore[reportIncompatibleMethodOverride]
        held, self.held = self.held, None
        if held is not None:
            self.reached.set()
            await held.wait()
        return await super().append(*what, **how)  # pyright: ignore[reportArgumentType]


async def test_a_turn_whose_client_leaves_while_it_is_written_keeps_its_place_until_it_ends() -> None:
    log, play = SlowLog(), held()
    house = house_of(1, play, log=log)
    session, other = await house.session(), await house.session()
    log.held = go_on = asyncio.Event()
    asking = asyncio.create_task(start(house, session))
    await asyncio.wait_for(log.reached.wait(), BOUND_S)
    asking.cancel()
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait({asking})
    assert asking.cancelled()
    await asyncio.wait_for(play.streaming.wait(), BOUND_S)

    await assert_full(house, other)
    let_go(play)
    (turn,) = await house.sessions.turns(session, LOCAL_OWNER)
    await finish(house, session, turn.id)
    await start(house, other)


async def test_a_session_that_is_deleted_gives_back_the_places_of_its_turns() -> None:
    first = held()
    house = house_of(2, first, held())
    session, other = await house.session(), await house.session()
    await start(house, session)
    await first.streaming.wait()
    await start(house, session, on_busy=OnBusy.QUEUE)
    await assert_full(house, other)

    await house.sessions.delete(session, LOCAL_OWNER)

    await start(house, other)
    await start(house, other, on_busy=OnBusy.QUEUE)
    await assert_full(house, await house.session())


async def test_what_a_start_goes_on_with_is_not_refused_and_counts() -> None:
    log, first = MemoryLog(), held()
    before = house_of(0, first, held(), log=log)
    sessions = [await before.session() for _ in range(2)]
    for session in sessions:
        await start(before, session)
        await start(before, session, on_busy=OnBusy.QUEUE)
    await first.streaming.wait()
    await before.sessions.shut_down(0)
    plays = [held() for _ in range(4)]
    house = House(ScriptedLlama(*plays), log=log, ids=LaterIds(), bounds=OwnerBounds(turns=1))

    await house.sessions.resume_unfinished()

    other = await house.session()
    await assert_full(house, other)
    for play in plays:
        let_go(play)
    for session in sessions:
        for turn in await house.sessions.turns(session, LOCAL_OWNER):
            assert await finish(house, session, turn.id) is Outcome.ANSWERED
    house.llama.script.append(say("At last."))
    assert await finish(house, other, await start(house, other)) is Outcome.ANSWERED


async def test_a_turn_that_waited_for_a_person_before_the_start_counts() -> None:
    log = MemoryLog()
    before = House(ScriptedLlama(ask_for(call("pay"))), asking_port(), log=log)
    session = await before.session()
    turn = await start(before, session)
    async with asyncio.timeout(BOUND_S):
        await before.finish(session, turn)
    await before.sessions.shut_down(0)
    house = House(ScriptedLlama(say("So.")), asking_port(), log=log, ids=LaterIds(), bounds=OwnerBounds(turns=1))

    await house.sessions.resume_unfinished()

    other = await house.session()
    await assert_full(house, other)
    await house.sessions.cancel(session, turn, LOCAL_OWNER)
    assert await finish(house, other, await start(house, other)) is Outcome.ANSWERED
