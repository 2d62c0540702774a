"""Keys of requests: kept with what they created, or not at all (H3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.core.errors import SequenceConflict
from service.core.ids import LOCAL_OWNER, OwnerId, SessionId
from service.core.request_key import KeyedAnswer, RequestKey
from service.ports import SessionLog
from tests.adapters.log_contract.sessions_made import (
    IDLE,
    LATER,
    START,
    TURN,
    draft,
    drafts,
    make,
    make_child,
    new_session,
    running,
)

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H3", "S1", "S2")]

KEY = RequestKey(owner=LOCAL_OWNER, method="POST", path="/sessions", key="k", body=b"\x00\xff")


async def append_with(log: SessionLog, session: SessionId, key: RequestKey, expected_seq: int = 1) -> None:
    await log.append(session, expected_seq, drafts("user", "assistant"), running(), LATER, key=key)


async def test_a_session_is_kept_with_its_key(log: SessionLog) -> None:
    session = new_session()
    created = draft(record_type="session_created", turn=None)
    assert await log.keyed(KEY) is None
    await log.create_session(session, [created], IDLE, key=KEY)
    assert await log.keyed(KEY) == KeyedAnswer(body=KEY.body, session=session.id, turn=None)


async def test_a_turn_is_kept_with_its_key_whatever_body_is_asked_for(log: SessionLog) -> None:
    session = await make(log)
    await append_with(log, session, KEY)
    known = KeyedAnswer(body=KEY.body, session=session, turn=TURN)
    assert await log.keyed(KEY) == known
    assert await log.keyed(replace(KEY, body=b"other")) == known


@pytest.mark.parametrize(
    "other",
    [
        replace(KEY, owner=OwnerId("x")),
        replace(KEY, method="PUT"),
        replace(KEY, path="/other"),
        replace(KEY, key="K"),
    ],
)
async def test_owner_method_path_and_key_name_it_together(log: SessionLog, other: RequestKey) -> None:
    session = await make(log)
    await append_with(log, session, KEY)
    assert await log.keyed(other) is None


async def test_a_refused_append_keeps_no_key(log: SessionLog) -> None:
    session = await make(log)
    with pytest.raises(SequenceConflict):
        await append_with(log, session, KEY, expected_seq=7)
    assert await log.keyed(KEY) is None


async def test_the_first_of_two_stays_and_the_records_of_both_are_kept(log: SessionLog) -> None:
    first, second = await make(log), await make(log)
    await append_with(log, first, KEY)
    await append_with(log, second, KEY)
    known = await log.keyed(KEY)
    assert known is not None
    assert known.session == first
    assert len(await log.read(second)) == 3


@pytest.mark.rules("H9")
async def test_keys_go_with_their_session_and_with_its_parent(log: SessionLog) -> None:
    parent = await make(log)
    child = await make_child(log, parent)
    await append_with(log, parent, KEY)
    await append_with(log, child, replace(KEY, key="child"))
    await log.delete_session(parent)
    assert [await log.keyed(key) for key in (KEY, replace(KEY, key="child"))] == [None, None]


async def test_old_keys_are_forgotten_and_younger_ones_stay(log: SessionLog) -> None:
    created = draft(record_type="session_created", turn=None)
    await log.create_session(new_session(), [created], IDLE, key=KEY)
    session = await make(log)
    await append_with(log, session, replace(KEY, key="later"))
    await log.forget_keys(START)
    assert await log.keyed(KEY) is not None
    await log.forget_keys(LATER)
    assert await log.keyed(KEY) is None
    assert await log.keyed(replace(KEY, key="later")) is not None
