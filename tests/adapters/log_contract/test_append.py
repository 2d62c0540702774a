"""S1: all records or none, at the expected seq."""

import asyncio

import pytest

from service.core.errors import SequenceConflict, StoreFailure
from service.core.ids import SessionId, TurnId
from service.core.records import ParentLink
from service.ports import SessionLog, StoredRecord
from tests.adapters.log_contract.sessions_made import (
    IDLE,
    START,
    TURN,
    append,
    draft,
    drafts,
    make,
    new_session,
    running,
    seqs,
)

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S1", "S2")]


async def test_a_new_session_begins_with_its_first_records(log: SessionLog) -> None:
    session = new_session()

    stored = await log.create_session(session, drafts("session_created", "user"), IDLE)

    assert seqs(stored) == [1, 2]
    assert list(await log.read(session.id)) == list(stored)


async def test_an_append_continues_the_log_and_tells_what_it_stored(log: SessionLog) -> None:
    session = await make(log)

    stored = await append(log, session, 1, [draft(b'{"a":1}', turn=TURN, record_type="user")])

    (record,) = stored
    assert (record.session, record.turn, record.type, record.seq) == (session, TURN, "user", 2)
    assert record.body == b'{"a":1}'
    assert list(await log.read(session, after_seq=1)) == list(stored)


@pytest.mark.cases(5)
@pytest.mark.parametrize("expected_seq", [0, 2])
async def test_an_append_that_expects_another_seq_is_refused(log: SessionLog, expected_seq: int) -> None:
    session = await make(log)

    with pytest.raises(SequenceConflict, match=session):
        await append(log, session, expected_seq, status=running())

    assert seqs(await log.read(session)) == [1]
    row = await log.session(session)
    assert row is not None
    assert (row.status, row.updated_at, row.head.seq) == (IDLE, START, 1)


async def test_an_append_to_no_session_is_refused(log: SessionLog) -> None:
    with pytest.raises(SequenceConflict):
        await append(log, SessionId("ses_none"), 0)

    assert await log.read(SessionId("ses_none")) == []
    assert await log.last_pos() == 0


async def test_of_fifty_appends_at_the_same_seq_one_wins(log: SessionLog) -> None:
    session = await make(log)

    results = await asyncio.gather(
        *(append(log, session, 1, [draft(b"%d" % number), draft()]) for number in range(50)),
        return_exceptions=True,
    )

    won = [result for result in results if not isinstance(result, BaseException)]
    assert len(won) == 1
    assert sum(isinstance(result, SequenceConflict) for result in results) == 49
    assert list(await log.read(session, after_seq=1)) == list(won[0])


async def test_a_refused_append_leaves_those_beside_it_alone(log: SessionLog) -> None:
    sessions = [await make(log) for _ in range(10)]

    results = await asyncio.gather(
        *(append(log, session, number % 2) for number, session in enumerate(sessions)), return_exceptions=True
    )

    refused = [isinstance(result, SequenceConflict) for result in results]
    assert refused == [number % 2 == 0 for number in range(10)]
    assert [len(await log.read(session)) for session in sessions] == [1, 2] * 5


async def test_appends_given_one_after_the_other_are_made_in_that_order(log: SessionLog) -> None:
    session = await make(log)

    stored = await asyncio.gather(*(append(log, session, seq, [draft(b"%d" % seq)]) for seq in range(1, 40)))

    assert [record.seq for (record,) in stored] == list(range(2, 41))
    assert [record.body for record in await log.read(session, after_seq=1)] == [b"%d" % n for n in range(1, 40)]


async def test_an_append_without_records_changes_the_status_only(log: SessionLog) -> None:
    session = await make(log)

    assert list(await append(log, session, 1, [], status=running())) == []

    row = await log.session(session)
    assert row is not None
    assert (row.head.seq, row.status) == (1, running())


async def test_a_session_id_is_given_once(log: SessionLog) -> None:
    session = new_session()
    await make(log, session)

    with pytest.raises(StoreFailure, match=session.id):
        await make(log, session, created=b"other")

    (record,) = await log.read(session.id)
    assert record.body != b"other"


async def test_a_child_of_no_session_is_refused(log: SessionLog) -> None:
    orphan = new_session(parent=ParentLink(session=SessionId("ses_gone"), turn=TURN, call=1))

    with pytest.raises(StoreFailure, match="ses_gone"):
        await make(log, orphan)

    assert await log.session(orphan.id) is None


async def test_pos_grows_strictly_over_all_sessions_in_the_order_of_the_answers(log: SessionLog) -> None:
    answered: list[StoredRecord] = []

    async def write(turn: TurnId) -> None:
        session = await make(log)
        for seq in range(1, 9, 2):
            answered.extend(await append(log, session, seq, drafts("user", "assistant", turn=turn)))

    await asyncio.gather(*(write(TurnId(f"trn_{number}")) for number in range(20)))

    positions = [record.pos for record in answered]
    assert positions == sorted(set(positions))
    assert await log.last_pos() == positions[-1]


async def test_a_caller_that_is_cancelled_leaves_the_store_working(log: SessionLog) -> None:
    session = await make(log)
    other = await make(log)
    caller = asyncio.create_task(append(log, session, 1))
    bystander = asyncio.create_task(append(log, other, 1))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.wait([caller])

    # The cancelled write may have happened; what follows it is in the same order as ever.
    assert seqs(await bystander) == [2]
    head = len(await log.read(session))
    assert seqs(await append(log, session, head)) == [head + 1]
