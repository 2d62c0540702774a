"""H9: what a deletion takes with it, and that no pos is given twice."""

import asyncio
from pathlib import Path

import pytest

from service.core.errors import SequenceConflict
from service.core.ids import SessionId
from service.ports import SessionLog
from tests.adapters.log_contract.sessions_made import append, draft, make, make_child, new_session
from tests.adapters.log_contract.stores import OpenStore

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S2", "H9")]


async def test_a_deleted_session_is_gone_with_its_log(log: SessionLog) -> None:
    session, other = await make(log), await make(log)
    await append(log, session, 1)

    assert list(await log.delete_session(session)) == [session]

    assert await log.session(session) is None
    assert await log.read(session) == []
    assert [row.id for row in await log.sessions(owner=None, limit=9)] == [other]
    assert len(await log.read(other)) == 1


async def test_a_session_that_is_not_there_is_not_deleted(log: SessionLog) -> None:
    session = await make(log)

    assert list(await log.delete_session(SessionId("ses_none"))) == []
    assert list(await log.delete_session(session)) == [session]
    assert list(await log.delete_session(session)) == []


async def test_children_and_their_children_go_with_their_parent(log: SessionLog) -> None:
    session = await make(log)
    child, sibling = await make_child(log, session), await make_child(log, session)
    grandchild = await make_child(log, child)
    unrelated = await make_child(log, await make(log))
    await append(log, grandchild, 1)

    assert list(await log.delete_session(session)) == [session, child, sibling, grandchild]

    for gone in (session, child, sibling, grandchild):
        assert await log.session(gone) is None
        assert await log.read(gone) == []
    assert len(await log.read(unrelated)) == 1


async def test_a_parent_stays_when_its_child_goes(log: SessionLog) -> None:
    session = await make(log)
    child = await make_child(log, session)

    assert list(await log.delete_session(child)) == [child]

    assert await log.session(session) is not None


@pytest.mark.rules("S1")
async def test_nothing_is_appended_to_a_deleted_session_nor_to_its_children(log: SessionLog) -> None:
    session = await make(log)
    child = await make_child(log, session)
    await append(log, child, 1)
    results = await asyncio.gather(
        append(log, session, 1),
        append(log, child, 2),
        log.delete_session(session),
        append(log, session, 2),
        append(log, child, 3),
        return_exceptions=True,
    )

    assert [isinstance(result, SequenceConflict) for result in results] == [False, False, False, True, True]
    with pytest.raises(SequenceConflict):
        await append(log, child, 3)
    assert await log.read(child) == []


async def test_a_session_made_anew_under_a_deleted_id_has_nothing_of_the_old(log: SessionLog) -> None:
    session = new_session()
    await make(log, session)
    await append(log, session.id, 1)
    await log.delete_session(session.id)

    await make(log, session, created=b"new")
    await append(log, session.id, 1, [draft(b"second")])

    assert [record.body for record in await log.read(session.id)] == [b"new", b"second"]


async def test_a_session_can_be_made_anew_right_after_its_deletion(log: SessionLog) -> None:
    session = new_session()
    await make(log, session)

    # One after the other, but given at once: a store may take them together.
    await asyncio.gather(
        append(log, session.id, 1),
        append(log, session.id, 2),
        log.delete_session(session.id),
        make(log, session, created=b"new"),
    )

    assert [record.body for record in await log.read(session.id)] == [b"new"]


async def test_spec_lists_may_stay_but_do_no_harm(log: SessionLog) -> None:
    session = await make(log)
    await log.put_specs("abc", b"[]")

    await log.delete_session(session)
    await log.put_specs("abc", b"[]")

    assert await log.specs("abc") == b"[]"


async def test_a_pos_is_not_given_twice_though_its_record_is_gone(log: SessionLog) -> None:
    session = await make(log)
    (last,) = await append(log, session, 1)
    await log.delete_session(session)

    assert await log.last_pos() == last.pos
    (record,) = await log.read(await make(log))
    assert record.pos > last.pos


async def test_a_pos_is_not_given_twice_after_a_restart_either(open_lasting: OpenStore, tmp_path: Path) -> None:
    async with open_lasting(tmp_path) as log:
        session = await make(log)
        (last,) = await append(log, session, 1)
        await log.delete_session(session)

    async with open_lasting(tmp_path) as log:
        assert await log.last_pos() == last.pos
        (record,) = await log.read(await make(log))
    assert record.pos > last.pos
