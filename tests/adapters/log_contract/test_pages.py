"""A reader may bound what it takes of a log at a time, in bytes, and always gets on (S2, H7)."""

import pytest

from service.core.ids import LOCAL_OWNER, SessionId
from service.ports import SessionLog
from tests.adapters.log_contract.sessions_made import IDLE, START, TURN, draft, new_session, seqs

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S2", "H7")]

SIZES = (10, 10, 100, 1, 10)
ALL = [1, 2, 3, 4, 5]


async def five_records(log: SessionLog) -> SessionId:
    session = new_session()
    await log.create_session(session, [draft(b"x" * SIZES[0], record_type="session_created", turn=None)], IDLE)
    for seq, size in enumerate(SIZES[1:], start=1):
        await log.append(session.id, seq, [draft(b"x" * size)], IDLE, START)
    return session.id


@pytest.mark.parametrize(
    ("max_bytes", "page"),
    [
        (None, [1, 2, 3, 4, 5]),
        (1, [1]),
        (10, [1]),
        (11, [1, 2]),
        (20, [1, 2]),
        (21, [1, 2, 3]),
        (10_000, [1, 2, 3, 4, 5]),
    ],
)
async def test_a_page_ends_behind_the_record_that_fills_it(
    log: SessionLog, max_bytes: int | None, page: list[int]
) -> None:
    session = await five_records(log)

    assert seqs(await log.read(session, max_bytes=max_bytes)) == page
    assert seqs(await log.read_all(LOCAL_OWNER, after_pos=0, limit=100, max_bytes=max_bytes)) == page


async def test_page_by_page_nothing_is_left_out(log: SessionLog) -> None:
    session = await five_records(log)
    read: list[int] = []
    while page := seqs(await log.read(session, after_seq=len(read), max_bytes=15)):
        read += page

    assert read == ALL


async def test_the_number_and_the_turn_bound_a_page_too(log: SessionLog) -> None:
    session = await five_records(log)

    assert seqs(await log.read(session, limit=2, max_bytes=10_000)) == [1, 2]
    assert seqs(await log.read(session, turn=TURN, max_bytes=11)) == [2, 3]
    assert seqs(await log.read(session, after_pos=1, max_bytes=11)) == [2, 3]
