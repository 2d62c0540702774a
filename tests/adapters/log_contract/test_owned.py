"""K3: a session that is one too many for its owner is not made, however many are asked for at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from service.core.errors import StoreFailure, TooManySessions
from service.core.ids import LOCAL_OWNER, OwnerId, SessionId
from service.core.request_key import RequestKey
from service.ports import SessionLog
from tests.adapters.log_contract.readings_made import make as make_reading
from tests.adapters.log_contract.readings_made import new_reading
from tests.adapters.log_contract.sessions_made import IDLE, START, append, draft, make, make_child, new_session, running
from tests.adapters.log_contract.stores import OpenStore, Store

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K3")]

ANN, BOB = OwnerId("ann"), OwnerId("bob")


async def create(log: SessionLog, owner: OwnerId, at_most: int, key: RequestKey | None = None) -> SessionId:
    session = new_session(owner=owner)
    first = draft(record_type="session_created", turn=None)
    await log.create_session(session, [first], IDLE, key=key, at_most=at_most)
    return session.id


async def owned(log: SessionLog, owner: OwnerId) -> int:
    return len(await log.sessions(owner=owner, limit=1000))


async def test_as_many_are_made_as_are_allowed_and_no_more(log: SessionLog) -> None:
    for _ in range(3):
        await create(log, ANN, 3)

    with pytest.raises(TooManySessions):
        await create(log, ANN, 3)

    assert await owned(log, ANN) == 3
    await create(log, ANN, 4)
    with pytest.raises(TooManySessions):
        await create(log, ANN, 4)
    assert await owned(log, ANN) == 4


async def test_those_that_were_made_without_a_bound_count(log: SessionLog) -> None:
    await create(log, ANN, 9)
    for _ in range(2):
        await create(log, ANN, 0)

    with pytest.raises(TooManySessions):
        await create(log, ANN, 3)
    await create(log, ANN, 0)


async def test_each_owner_has_a_number_of_its_own(log: SessionLog) -> None:
    await create(log, ANN, 1)

    await create(log, BOB, 1)

    for owner in (ANN, BOB):
        with pytest.raises(TooManySessions):
            await create(log, owner, 1)


async def test_what_is_refused_leaves_nothing_behind(log: SessionLog) -> None:
    await create(log, ANN, 1)
    before = await log.last_pos()
    key = RequestKey(owner=ANN, method="POST", path="/sessions", key="k", body=b"h")

    with pytest.raises(TooManySessions):
        await create(log, ANN, 1, key)

    assert await log.keyed(key) is None
    assert await log.last_pos() == before


async def test_of_many_at_once_no_more_are_made_than_are_allowed(log: SessionLog) -> None:
    await create(log, ANN, 10)

    ended: Sequence[SessionId | BaseException] = await asyncio.gather(
        *(create(log, ANN, 10) for _ in range(30)), return_exceptions=True
    )

    assert sum(isinstance(end, TooManySessions) for end in ended) == 21
    assert await owned(log, ANN) == 10


async def test_a_deleted_session_gives_its_place_back_and_so_do_its_children(log: SessionLog) -> None:
    parent = await create_local(log, 4)
    child = await make_child(log, parent)
    await make_child(log, child)
    other = await create_local(log, 4)
    with pytest.raises(TooManySessions):
        await create_local(log, 4)

    await log.delete_session(parent)
    await log.delete_session(parent)

    for _ in range(3):
        await create_local(log, 4)
    with pytest.raises(TooManySessions):
        await create_local(log, 4)
    await log.delete_session(other)
    await create_local(log, 4)


async def create_local(log: SessionLog, at_most: int) -> SessionId:
    return await create(log, LOCAL_OWNER, at_most)


async def test_sessions_that_are_pruned_give_their_places_back(log: SessionLog) -> None:
    made = [await create(log, ANN, 3) for _ in range(3)]
    await append(log, made[0], 1, status=running())

    assert len(await log.prune(START + timedelta(seconds=1), limit=9)) == 2

    for _ in range(2):
        await create(log, ANN, 3)
    with pytest.raises(TooManySessions):
        await create(log, ANN, 3)


async def test_a_session_that_could_not_be_made_takes_no_place(log: SessionLog) -> None:
    taken = await create(log, ANN, 2)

    with pytest.raises(StoreFailure):
        await log.create_session(new_session(taken, owner=ANN), [draft()], IDLE, at_most=2)

    await create(log, ANN, 2)
    with pytest.raises(TooManySessions):
        await create(log, ANN, 2)


async def test_sessions_of_the_time_before_count(open_lasting: OpenStore, tmp_path: Path) -> None:
    async with open_lasting(tmp_path) as log:
        for _ in range(2):
            await create(log, ANN, 2)
        await make(log)

    async with open_lasting(tmp_path) as log:
        with pytest.raises(TooManySessions):
            await create(log, ANN, 2)
        await create(log, ANN, 3)


async def test_readings_are_no_sessions(log: Store) -> None:
    await make_reading(log, new_reading(owner=ANN))

    await create(log, ANN, 1)

    with pytest.raises(TooManySessions):
        await create(log, ANN, 1)
