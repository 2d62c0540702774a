"""K3: an owner has no more sessions than are allowed; forks count, and what a handoff makes is never refused."""

from __future__ import annotations

import asyncio

import pytest

from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER, OwnerId, SessionId
from service.core.owner_bounds import OwnerBounds
from service.core.records import Outcome
from service.core.request_key import RequestKey
from service.turns.requests import ForkAsked, SessionAsked
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, say
from tests.turns.handing_over import AGENTS, child_session, hand_over

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K3")]

ANN = OwnerId("ann")


async def assert_full(house: House, owner: OwnerId = LOCAL_OWNER, **asked: object) -> None:
    with pytest.raises(RequestRefused) as refused:
        await house.sessions.create(SessionAsked(**asked), owner)  # pyright: ignore[reportArgumentType]
    assert refused.value.code is ProblemCode.RATE_LIMITED
    assert "sessions_per_owner" in refused.value.detail
    assert refused.value.retry_after_s is not None


async def number(house: House, owner: OwnerId = LOCAL_OWNER) -> int:
    return len(await house.log.sessions(owner=owner, limit=100))


async def test_as_many_sessions_are_made_as_are_allowed_for_each_owner() -> None:
    house = House(ScriptedLlama(), bounds=OwnerBounds(sessions=2))
    for owner in (LOCAL_OWNER, ANN):
        for _ in range(2):
            await house.sessions.create(SessionAsked(), owner)

        await assert_full(house, owner)

        assert await number(house, owner) == 2


async def test_a_session_that_is_deleted_makes_room() -> None:
    house = House(ScriptedLlama(), bounds=OwnerBounds(sessions=1))
    session = await house.session()
    await assert_full(house)

    await house.sessions.delete(session, LOCAL_OWNER)

    await house.session()
    await assert_full(house)


async def test_of_sessions_that_are_asked_for_at_once_no_more_are_made_than_are_allowed() -> None:
    house = House(ScriptedLlama(), bounds=OwnerBounds(sessions=3))

    ended = await asyncio.gather(*(house.session() for _ in range(8)), return_exceptions=True)

    assert sum(isinstance(end, RequestRefused) for end in ended) == 5
    assert await number(house) == 3


async def test_a_fork_is_a_session() -> None:
    house = House(ScriptedLlama(say("Red.")), bounds=OwnerBounds(sessions=2))
    session = await house.session()
    turn = await house.run(session, "A colour?")
    forked: SessionId = await house.session(fork=ForkAsked(session=session, before=turn.id))

    await assert_full(house, fork=ForkAsked(session=session, before=turn.id))

    await house.sessions.delete(forked, LOCAL_OWNER)
    await house.session(fork=ForkAsked(session=session, before=turn.id))


async def test_a_repeated_request_is_given_its_session_though_there_is_no_room_for_another() -> None:
    house = House(ScriptedLlama(), bounds=OwnerBounds(sessions=1))
    key = RequestKey(owner=LOCAL_OWNER, method="POST", path="/sessions", key="k", body=b"h")
    made = await house.sessions.create(SessionAsked(), LOCAL_OWNER, key)

    again = await house.sessions.create(SessionAsked(), LOCAL_OWNER, key)

    assert again.id == made.id


async def test_a_session_that_a_handoff_makes_is_not_refused_and_counts() -> None:
    script = [ask_for(hand_over()), say("Green tea."), say("It is green tea.")]
    house = House(ScriptedLlama(*script), agents=AGENTS, bounds=OwnerBounds(sessions=1))
    session = await house.session(agent="desk")

    assert (await house.run(session)).outcome is Outcome.ANSWERED

    await assert_full(house)
    await house.sessions.delete(await child_session(house, session), LOCAL_OWNER)
    await assert_full(house)
    await house.sessions.delete(session, LOCAL_OWNER)
    await house.session(agent="desk")
