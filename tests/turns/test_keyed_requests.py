"""The same request with the same key does its work once (H3)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER, OwnerId, SessionId, TurnId
from service.core.records import User
from service.core.request_key import RequestKey
from service.turns.requests import OnBusy, SessionAsked, TurnAsked
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, say

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H3")]

KEY = RequestKey(owner=LOCAL_OWNER, method="POST", path="/p", key="k1", body=b"one")


async def start(house: House, session: SessionId, key: RequestKey = KEY, on_busy: OnBusy = OnBusy.REJECT) -> TurnId:
    return await house.sessions.start_turn(session, LOCAL_OWNER, TurnAsked(content="Hi", on_busy=on_busy), key)


async def users(house: House, session: SessionId) -> int:
    return len([record for record in await house.records(session) if isinstance(record, User)])


async def refusal(awaitable: object) -> ProblemCode:
    with pytest.raises(RequestRefused) as caught:
        await awaitable  # pyright: ignore[reportGeneralTypeIssues]
    return caught.value.code


async def test_ten_equal_requests_at_once_start_one_turn() -> None:
    house = House(ScriptedLlama(say("One.")))
    session = await house.session()
    turns = await asyncio.gather(*(start(house, session) for _ in range(10)))
    await house.finish(session, turns[0])
    assert len(set(turns)) == 1
    assert await users(house, session) == 1


async def test_a_repeat_while_the_turn_runs_and_after_it_gives_the_same_turn() -> None:
    half = say("One.", before_end=asyncio.Event())
    house = House(ScriptedLlama(half))
    session = await house.session()
    turn = await start(house, session)
    await half.streaming.wait()
    running = await start(house, session)
    assert half.before_end is not None
    half.before_end.set()
    await house.finish(session, turn)
    assert running == turn == await start(house, session)


async def test_a_repeat_is_known_after_a_restart() -> None:
    house = House(ScriptedLlama(say("One.")))
    session = await house.session()
    turn = await start(house, session)
    await house.finish(session, turn)
    again = House(ScriptedLlama(), log=house.log)
    assert await start(again, session) == turn


async def test_another_body_under_the_key_is_refused() -> None:
    house = House(ScriptedLlama(say("One.")))
    session = await house.session()
    await house.finish(session, await start(house, session))
    assert await refusal(start(house, session, replace(KEY, body=b"two"))) is ProblemCode.IDEMPOTENCY_MISMATCH
    assert await users(house, session) == 1


@pytest.mark.parametrize(
    "other",
    [replace(KEY, key="k2"), replace(KEY, path="/q"), replace(KEY, method="PUT"), replace(KEY, owner=OwnerId("x"))],
)
async def test_a_key_holds_for_its_owner_method_and_path_only(other: RequestKey) -> None:
    house = House(ScriptedLlama(say("One."), say("Two.")))
    session = await house.session()
    first = await start(house, session)
    await house.finish(session, first)
    second = await start(house, session, other)
    await house.finish(session, second)
    assert first != second


async def test_a_refused_request_leaves_no_key() -> None:
    half = say("One.", before_end=asyncio.Event())
    house = House(ScriptedLlama(half, say("Two.")))
    session = await house.session()
    busy = await house.start(session)
    await half.streaming.wait()
    assert await refusal(start(house, session)) is ProblemCode.TURN_IN_PROGRESS
    assert half.before_end is not None
    half.before_end.set()
    await house.finish(session, busy)
    turn = await start(house, session)
    assert (await house.finish(session, turn)).content == "Two."


@pytest.mark.rules("H4")
async def test_a_queued_turn_has_its_key_from_when_it_was_queued() -> None:
    half = say("One.", before_end=asyncio.Event())
    house = House(ScriptedLlama(half, say("Two.")))
    session = await house.session()
    await house.start(session)
    await half.streaming.wait()
    queued = [await start(house, session, on_busy=OnBusy.QUEUE) for _ in range(2)]
    assert half.before_end is not None
    half.before_end.set()
    await house.finish(session, queued[0])
    assert queued[0] == queued[1] == await start(house, session, on_busy=OnBusy.QUEUE)


async def test_a_session_is_made_once() -> None:
    house = House(ScriptedLlama())
    asked = SessionAsked(title="Rain")
    views = await asyncio.gather(*(house.sessions.create(asked, LOCAL_OWNER, KEY) for _ in range(5)))
    assert len({view.id for view in views}) == 1
    sessions, _ = await house.sessions.page(LOCAL_OWNER, limit=10, after=None)
    assert len(sessions) == 1


@pytest.mark.rules("H9")
async def test_a_deleted_session_takes_its_keys_with_it() -> None:
    house = House(ScriptedLlama(say("One.")))
    first = await house.sessions.create(SessionAsked(), LOCAL_OWNER, KEY)
    await house.finish(first.id, await start(house, first.id, replace(KEY, key="k2")))
    await house.sessions.delete(first.id, LOCAL_OWNER)
    second = await house.sessions.create(SessionAsked(), LOCAL_OWNER, KEY)
    assert second.id != first.id
    assert await house.log.keyed(replace(KEY, key="k2")) is None
