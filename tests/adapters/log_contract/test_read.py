"""S1: what was appended is read in windows by seq, by pos, by turn, and from the last record of a type."""

import pytest

from service.core.ids import LOCAL_OWNER, OwnerId, SessionId, TurnId
from service.ports import SessionLog, StoredRecord
from tests.adapters.log_contract.sessions_made import append, draft, drafts, make, new_session, seqs

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S1", "S2")]

FIRST, SECOND = TurnId("trn_a"), TurnId("trn_b")


async def two_turns(log: SessionLog) -> tuple[SessionId, list[StoredRecord]]:
    """Make a log of seven records, with those of another session in between."""
    session, other = await make(log), await make(log)
    await append(log, session, 1, drafts("user", "assistant", "turn_finished", turn=FIRST))
    await append(log, other, 1, drafts("user", "turn_finished"))
    await append(log, session, 4, drafts("user", "assistant", "usage", turn=SECOND))
    return session, list(await log.read(session))


async def test_a_log_is_read_whole_and_in_order(log: SessionLog) -> None:
    session, records = await two_turns(log)

    assert seqs(records) == [1, 2, 3, 4, 5, 6, 7]
    assert {record.session for record in records} == {session}
    assert [record.turn for record in records] == [None] + 3 * [FIRST] + 3 * [SECOND]


@pytest.mark.parametrize(
    ("after_seq", "limit", "expected"),
    [
        (0, 3, [1, 2, 3]),
        (2, None, [3, 4, 5, 6, 7]),
        (2, 2, [3, 4]),
        (5, 100, [6, 7]),
        (7, None, []),
        (99, None, []),
        (0, 0, []),
    ],
)
async def test_a_window_is_read_by_seq(log: SessionLog, after_seq: int, limit: int | None, expected: list[int]) -> None:
    session, _ = await two_turns(log)

    assert seqs(await log.read(session, after_seq=after_seq, limit=limit)) == expected


async def test_a_window_is_read_by_pos(log: SessionLog) -> None:
    session, records = await two_turns(log)

    for count, record in enumerate(records, 1):
        assert list(await log.read(session, after_pos=record.pos)) == records[count:]
        assert list(await log.read(session, after_pos=record.pos, limit=2)) == records[count : count + 2]
        assert list(await log.read(session, after_pos=record.pos - 1, limit=1)) == [record]
    assert await log.read(session, after_pos=records[-1].pos + 1000) == []


async def test_the_later_of_two_bounds_counts(log: SessionLog) -> None:
    session, records = await two_turns(log)

    assert seqs(await log.read(session, after_seq=5, after_pos=records[1].pos)) == [6, 7]
    assert seqs(await log.read(session, after_seq=1, after_pos=records[4].pos)) == [6, 7]


async def test_one_turn_is_read_alone(log: SessionLog) -> None:
    session, records = await two_turns(log)

    assert seqs(await log.read(session, turn=FIRST)) == [2, 3, 4]
    assert seqs(await log.read(session, turn=SECOND, after_seq=5)) == [6, 7]
    assert seqs(await log.read(session, turn=SECOND, after_pos=records[5].pos)) == [7]
    assert seqs(await log.read(session, turn=FIRST, limit=2)) == [2, 3]
    assert await log.read(session, turn=TurnId("trn_none")) == []


async def test_a_turn_is_read_whole_when_another_turns_records_stand_between(log: SessionLog) -> None:
    session = await make(log)
    for seq, turn in enumerate([FIRST, SECOND, FIRST, SECOND], 1):
        await append(log, session, seq, [draft(turn=turn)])

    assert seqs(await log.read(session, turn=FIRST)) == [2, 4]
    assert seqs(await log.read(session, turn=SECOND)) == [3, 5]


async def test_a_session_that_is_not_there_has_no_records(log: SessionLog) -> None:
    await two_turns(log)

    assert await log.read(SessionId("ses_none")) == []


async def test_what_is_read_is_not_changed_by_later_appends(log: SessionLog) -> None:
    session, records = await two_turns(log)

    await append(log, session, 7)

    assert seqs(records) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.rules("S3")
@pytest.mark.parametrize(
    "body",
    [
        '{"content":"line\u2028par\u2029next\u0085"}'.encode(),
        '{"content":"\U0001f9f6 e\u0301 \u05d0 \x7f"}'.encode(),
        b'{"content":"a\\u0000b\\ud800"}',
        b'{"content":"' + b"x" * 1024 * 1024 + b'"}',
        b"\xff\xfe no text at all \x00",
        b"",
    ],
    ids=["line separators", "emoji and marks", "escapes", "1 MiB", "no UTF-8", "empty"],
)
async def test_a_body_comes_back_byte_for_byte(log: SessionLog, body: bytes) -> None:
    session = await make(log)

    (stored,) = await append(log, session, 1, [draft(body)])
    (read,) = await log.read(session, after_seq=1)

    assert stored.body == read.body == body
    assert type(read.body) is bytes


@pytest.mark.rules("H6")
async def test_a_cursor_is_lost_beyond_the_last_record_and_nowhere_else(log: SessionLog) -> None:
    session = await make(log)
    (record,) = await append(log, session, 1)

    cursors = [await log.cursor(pos) for pos in range(record.pos + 2)]
    assert [cursor.is_lost for cursor in cursors] == [*[False] * (record.pos + 1), True]
    assert {cursor.last_pos for cursor in cursors} == {record.pos}


async def test_the_greatest_pos_is_that_of_the_last_record(log: SessionLog) -> None:
    assert await log.last_pos() == 0

    session = await make(log)
    (record,) = await append(log, session, 1)

    assert await log.last_pos() == record.pos


async def test_a_store_answers_when_it_is_asked_whether_it_does(log: SessionLog) -> None:
    await log.check()


@pytest.mark.rules("H6", "S2")
async def test_records_of_all_sessions_of_an_owner_come_by_pos_page_by_page(log: SessionLog) -> None:
    stranger = OwnerId("stranger")
    first, other, second = await make(log), await make(log, new_session(owner=stranger)), await make(log)
    for session, seq in ((second, 1), (first, 1), (other, 1), (second, 2)):
        await append(log, session, seq)

    everything = await log.read_all(LOCAL_OWNER, after_pos=0, limit=100)
    pages = [
        await log.read_all(LOCAL_OWNER, after_pos=0, limit=2),
        await log.read_all(LOCAL_OWNER, after_pos=everything[1].pos, limit=100),
    ]

    assert [(record.session, record.seq) for record in everything] == [
        (first, 1), (second, 1), (second, 2), (first, 2), (second, 3),
    ]  # fmt: skip
    assert [*pages[0], *pages[1]] == [*everything]
    assert [record.pos for record in everything] == sorted(record.pos for record in everything)
    assert await log.read(second) == [record for record in everything if record.session == second]
    assert len(await log.read_all(stranger, after_pos=0, limit=100)) == 2
    assert await log.read_all(LOCAL_OWNER, after_pos=everything[-1].pos, limit=100) == []
