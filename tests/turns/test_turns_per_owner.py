"""K3: an owner has no more unfinished turns than are allowed, wherever they wait, and each end gives a place back."""

from __future__ import annotations

import asyncio

import pytest

from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER, OwnerId
from service.core.owner_bounds import OwnerBounds
from service.core.records import Outcome
from service.turns.requests import OnBusy
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.turns.approving import asking_port
from tests.turns.handing_over import AGENTS, child_session, hand_over
from tests.turns.owners_turns import BOUND_S, assert_full, finish, held, house_of, let_go, session_of, start

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K3")]

ANN, BOB = OwnerId("ann"), OwnerId("bob")


async def test_turns_that_run_in_any_sessions_count_together_until_they_end() -> None:
    first, second = held(), held()
    house = house_of(2, first, second, say("Third."))
    one, two, three = [await house.session() for _ in range(3)]
    turn = await start(house, one)
    await first.streaming.wait()
    await start(house, two)
    await second.streaming.wait()

    await assert_full(house, three)
    let_go(first)
    await finish(house, one, turn)

    assert await finish(house, three, await start(house, three)) is Outcome.ANSWERED


async def test_turns_in_queues_count_and_their_end_gives_the_place_back() -> None:
    first = held()
    house = house_of(3, first, say("Two."), say("Three."))
    one, other = await house.session(), await house.session()
    await start(house, one)
    await first.streaming.wait()
    two = await start(house, one, on_busy=OnBusy.QUEUE)
    three = await start(house, one, on_busy=OnBusy.QUEUE)

    await assert_full(house, other)
    await assert_full(house, one, on_busy=OnBusy.QUEUE)
    await house.sessions.cancel(one, two, LOCAL_OWNER)
    four = await start(house, one, on_busy=OnBusy.QUEUE)
    await assert_full(house, other)
    let_go(first)
    for turn in (three, four):
        await finish(house, one, turn)

    for _ in range(3):
        assert await finish(house, other, await start(house, other)) is not None


async def test_whoever_was_told_of_an_end_may_send_another_message_at_once() -> None:
    house = house_of(1, *(say("So.") for _ in range(5)))
    sessions = [await house.session() for _ in range(5)]
    for session in sessions:
        turn = await start(house, session)
        view = await house.sessions.turn(session, turn, LOCAL_OWNER)
        async with asyncio.timeout(BOUND_S):
            while view.outcome is None:
                await asyncio.sleep(0)
                view = await house.sessions.turn(session, turn, LOCAL_OWNER)


async def test_a_session_that_is_busy_says_so_before_its_owner_has_too_many() -> None:
    first = held()
    house = house_of(1, first)
    session = await house.session()
    await start(house, session)

    with pytest.raises(RequestRefused) as refused:
        await start(house, session)

    assert refused.value.code is ProblemCode.TURN_IN_PROGRESS


async def test_a_turn_that_interrupts_takes_the_place_of_the_one_that_it_ends() -> None:
    first = held()
    house = house_of(1, first, say("Now this."))
    session, other = await house.session(), await house.session()
    interrupted = await start(house, session)
    await first.streaming.wait()

    turn = await start(house, session, on_busy=OnBusy.INTERRUPT)

    assert await finish(house, session, interrupted) is Outcome.CANCELLED
    assert await finish(house, session, turn) is Outcome.ANSWERED
    # Both have ended, and one place is free, not two.
    last = held()
    house.llama.script.append(last)
    await start(house, other)
    await assert_full(house, session)
    let_go(last)


async def test_each_owner_has_places_of_its_own() -> None:
    house = house_of(1, held(), held())
    anns, bobs = [await session_of(house, owner) for owner in (ANN, BOB)]
    await start(house, anns, ANN)

    await start(house, bobs, BOB)

    for owner in (ANN, BOB):
        await assert_full(house, await session_of(house, owner), owner)


async def test_of_messages_that_come_at_once_as_many_are_taken_as_there_are_places() -> None:
    plays = [held() for _ in range(4)]
    house = house_of(4, *plays)
    sessions = [await house.session() for _ in range(9)]

    ended = await asyncio.gather(*(start(house, session) for session in sessions), return_exceptions=True)

    assert sum(isinstance(end, RequestRefused) for end in ended) == 5
    assert sum(isinstance(end, str) for end in ended) == 4


async def test_of_messages_that_come_at_once_to_one_queue_none_is_refused_while_there_are_places() -> None:
    first = held()
    house = house_of(8, first, *(say("So.") for _ in range(7)))
    session = await house.session()
    await start(house, session)
    await first.streaming.wait()

    turns = await asyncio.gather(*(start(house, session, on_busy=OnBusy.QUEUE) for _ in range(7)))

    let_go(first)
    for turn in turns:
        await finish(house, session, turn)
    assert await finish(house, session, await start(house, session)) is not None


async def test_a_handoff_is_not_refused_and_its_turn_counts_while_it_goes_on() -> None:
    child = held("Green tea.")
    script = [ask_for(hand_over()), child, say("It is green tea."), say("Another.")]
    house = House(ScriptedLlama(*script), agents=AGENTS, bounds=OwnerBounds(turns=2, sessions=2))
    session, other = await house.session(agent="desk"), await house.session(agent="desk")
    turn = await start(house, session)
    async with asyncio.timeout(BOUND_S):
        await child.streaming.wait()

    await assert_full(house, other)
    let_go(child)
    assert await finish(house, session, turn) is Outcome.ANSWERED
    assert await child_session(house, session)
    assert await finish(house, other, await start(house, other)) is Outcome.ANSWERED


async def test_a_turn_that_waits_for_a_person_counts() -> None:
    house = House(ScriptedLlama(ask_for(call("pay"))), asking_port(), bounds=OwnerBounds(turns=1))
    session = await house.session()
    turn = await start(house, session)
    # Given as soon as it waits for a person.
    async with asyncio.timeout(BOUND_S):
        await house.finish(session, turn)

    other = await house.session()
    await assert_full(house, other)
    await house.sessions.cancel(session, turn, LOCAL_OWNER)
    house.llama.script.append(say("So."))
    assert await finish(house, other, await start(house, other)) is Outcome.ANSWERED
