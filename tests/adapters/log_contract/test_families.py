"""A session and its children at every depth, read as one by `pos` (S2, H6, G2)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.core.ids import SessionId, TurnId
from service.core.records import ParentLink
from service.ports import SessionLog, StoredRecord
from tests.adapters.log_contract.sessions_made import IDLE, TURN, append, draft, drafts, make, make_child, new_session

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S2", "G2")]

TYPES = ("approval_requested", "approval_decided")
NESTED = TurnId("trn_nested")


async def hand_over(log: SessionLog, parent: SessionId, turn: TurnId, child_turn: TurnId) -> SessionId:
    """Make a session as a handoff does: its log begins with its creation and the message that it was given."""
    child = new_session(parent=ParentLink(session=parent, turn=turn, call=1))
    records = [draft(record_type="session_created", turn=None), draft(turn=child_turn)]
    await log.create_session(child, records, IDLE)
    return child.id


async def of_family(log: SessionLog, session: SessionId, *, after_pos: int = 0, limit: int = 100) -> list[StoredRecord]:
    return list(await log.read_family(session, after_pos=after_pos, limit=limit))


async def of_turn(
    log: SessionLog, session: SessionId, turn: TurnId, *, after_pos: int = 0, limit: int = 100
) -> list[StoredRecord]:
    found = await log.read_turn_family(session, turn, types_below=TYPES, after_pos=after_pos, limit=limit)
    return list(found)


def told(records: Sequence[StoredRecord]) -> list[tuple[SessionId, str]]:
    return [(record.session, record.type) for record in records]


async def test_a_family_is_a_session_and_all_below_it_and_nobody_else(log: SessionLog) -> None:
    session = await make(log)
    child = await make_child(log, session)
    stranger = await make(log)
    grandchild, sibling = await make_child(log, child), await make_child(log, session)
    of_stranger = await make_child(log, stranger)

    assert list(await log.family(session)) == [session, child, grandchild, sibling]
    assert list(await log.family(child)) == [child, grandchild]
    assert list(await log.family(stranger)) == [stranger, of_stranger]
    assert list(await log.family(SessionId("ses_none"))) == []


@pytest.mark.rules("H6")
async def test_the_records_of_a_family_come_in_the_stores_order(log: SessionLog) -> None:
    session = await make(log)
    child = await make_child(log, session)
    stranger = await make(log)
    for seq in (1, 2):
        for member in (child, stranger, session):
            await append(log, member, seq)
    grandchild = await make_child(log, child)
    await append(log, session, 3)

    found = await of_family(log, session)

    whole = [record for member in (session, child, grandchild) for record in await log.read(member)]
    assert found == sorted(whole, key=lambda record: record.pos)
    assert [record.session for record in found] == [
        session, child, child, session, child, session, grandchild, session,
    ]  # fmt: skip
    assert await of_family(log, child) == [record for record in found if record.session != session]
    assert await of_family(log, SessionId("ses_none")) == []


@pytest.mark.rules("H6", "H7")
async def test_a_family_is_read_page_by_page_from_behind_any_place(log: SessionLog) -> None:
    session = await make(log)
    child = await make_child(log, session)
    for seq in range(1, 6):
        await append(log, child if seq % 2 else session, (seq + 1) // 2, [draft(b"x" * 10)])
    whole = await of_family(log, session)

    for place, record in enumerate(whole, start=1):
        assert await of_family(log, session, after_pos=record.pos) == whole[place:]
        assert await of_family(log, session, after_pos=record.pos, limit=2) == whole[place : place + 2]
    page = await log.read_family(session, after_pos=whole[1].pos, limit=100, max_bytes=15)
    assert list(page) == whole[2:4]


async def test_a_turns_records_come_with_some_of_those_of_the_turns_that_it_was_handed_over_to(log: SessionLog) -> None:
    session = await make(log)
    await append(log, session, 1, drafts("user", "handoff_started"))
    child = await hand_over(log, session, TURN, TURN)
    await append(log, child, 2, drafts("assistant", "approval_requested", "handoff_started"))
    grandchild = await hand_over(log, child, TURN, NESTED)
    await append(log, grandchild, 2, drafts("approval_requested", "approval_decided", "turn_finished", turn=NESTED))
    await append(log, session, 3, drafts("turn_finished"))

    found = await of_turn(log, session, TURN)

    assert told(found) == [
        (session, "user"),
        (session, "handoff_started"),
        (child, "approval_requested"),
        (grandchild, "approval_requested"),
        (grandchild, "approval_decided"),
        (session, "turn_finished"),
    ]
    assert [record.pos for record in found] == sorted(record.pos for record in found)
    for place, record in enumerate(found, start=1):
        assert await of_turn(log, session, TURN, after_pos=record.pos) == found[place:]
        assert await of_turn(log, session, TURN, after_pos=record.pos, limit=1) == found[place : place + 1]


async def test_other_turns_of_a_family_are_not_a_turns(log: SessionLog) -> None:
    other = TurnId("trn_other")
    session = await make(log)
    await append(log, session, 1, drafts("user"))
    await append(log, session, 2, drafts("user", "approval_requested", turn=other))
    child = await hand_over(log, session, TURN, NESTED)
    of_other = await hand_over(log, session, other, NESTED)
    # A turn that somebody else began in the child, and what that one was handed over to.
    await append(log, child, 2, drafts("user", "approval_requested", turn=other))
    below_other = await hand_over(log, child, other, TURN)
    without_turn = await make(log, new_session(parent=ParentLink(session=session, turn=TURN, call=2)))
    for member, turn in ((of_other, NESTED), (below_other, TURN)):
        await append(log, member, 2, drafts("approval_requested", turn=turn))
    await append(log, without_turn, 1)
    await append(log, without_turn, 2, drafts("approval_requested", turn=other))
    await append(log, child, 4, drafts("approval_requested", turn=NESTED))

    assert told(await of_turn(log, session, TURN)) == [(session, "user"), (child, "approval_requested")]
    assert await of_turn(log, session, TurnId("trn_none")) == []
    assert await of_turn(log, SessionId("ses_none"), TURN) == []


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=25), st.integers(1, 5))
async def test_however_a_family_grows_its_pages_are_the_logs_of_its_members(
    log: SessionLog, acts: list[tuple[int, bool]], limit: int
) -> None:
    members, seqs = [await make(log)], [1]
    for number, makes_child in acts:
        at = number % len(members)
        if makes_child:
            members.append(await make_child(log, members[at]))
            seqs.append(1)
        else:
            await append(log, members[at], seqs[at])
            seqs[at] += 1

    pages: list[StoredRecord] = []
    while page := await log.read_family(members[0], after_pos=pages[-1].pos if pages else 0, limit=limit):
        assert len(page) <= limit
        pages += page

    logs = [record for member in members for record in await log.read(member)]
    assert pages == sorted(logs, key=lambda record: record.pos)
    assert list(await log.family(members[0])) == members
