"""T9: the whole text of a result that was cut comes and goes with its record."""

import asyncio
from pathlib import Path

import pytest

from service.core.errors import SequenceConflict, StoreFailure
from service.core.ids import SessionId
from service.ports import SessionLog
from tests.adapters.log_contract.sessions_made import IDLE, append, draft, make, make_child, new_session
from tests.adapters.log_contract.stores import OpenStore

pytestmark = [pytest.mark.anyio, pytest.mark.rules("T9", "S2")]

TEXTS = {
    "empty": b"",
    "ends of line of every kind": "a\r\nb\rc\nd\u2028e\x00f".encode(),
    "outside of the first plane": "\ufeff\U0001f9f5 \U00010348".encode(),
    "8 MiB": bytes(range(128)) * (8 * 1024 * 1024 // 128),
    "more than 8 MiB": "\u20ac".encode() * (3 * 1024 * 1024),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
async def test_a_text_comes_back_byte_for_byte(log: SessionLog, text: bytes) -> None:
    session = await make(log)

    await append(log, session, 1, [draft(full=text)])

    assert await log.full_text(session, 2) == text


async def test_each_text_is_that_of_its_own_record(log: SessionLog) -> None:
    session, other = await make(log), await make(log)

    await asyncio.gather(
        append(log, session, 1, [draft(full=b"two"), draft(), draft(full=b"four")]),
        append(log, other, 1, [draft(), draft(full=b"three of the other")]),
        append(log, session, 4, [draft(full=b"five")]),
    )

    kept = [await log.full_text(session, seq) for seq in range(1, 7)]
    assert kept == [None, b"two", None, b"four", b"five", None]
    assert [await log.full_text(other, seq) for seq in (2, 3)] == [None, b"three of the other"]


async def test_a_session_may_begin_with_a_text(log: SessionLog) -> None:
    session = new_session()

    await log.create_session(session, [draft(record_type="session_created"), draft(full=b"whole")], IDLE)

    assert await log.full_text(session.id, 2) == b"whole"


async def test_the_record_itself_does_not_change_by_it(log: SessionLog) -> None:
    session, other = await make(log, created=b"same"), await make(log, created=b"same")

    (with_text,) = await append(log, session, 1, [draft(b"body", full=b"whole")])
    (without,) = await append(log, other, 1, [draft(b"body")])

    assert (with_text.body, with_text.hash) == (without.body, without.hash)
    assert list(await log.read(session, after_seq=1)) == [with_text]


async def test_where_there_is_no_record_there_is_no_text(log: SessionLog) -> None:
    session = await make(log)
    await append(log, session, 1, [draft(full=b"whole")])

    assert await log.full_text(SessionId("ses_none"), 2) is None
    assert [await log.full_text(session, seq) for seq in (-1, 0, 3, 2**63 - 1)] == [None] * 4


@pytest.mark.rules("S1")
@pytest.mark.parametrize("expected_seq", [0, 2])
async def test_a_refused_append_keeps_no_text(log: SessionLog, expected_seq: int) -> None:
    session = await make(log)

    with pytest.raises(SequenceConflict):
        await append(log, session, expected_seq, [draft(full=b"refused"), draft(full=b"refused")])
    await append(log, session, 1, [draft(), draft()])

    assert [await log.full_text(session, seq) for seq in range(1, 5)] == [None] * 4


@pytest.mark.rules("S1")
async def test_a_refused_append_keeps_no_text_beside_one_that_is_made(log: SessionLog) -> None:
    session = await make(log)

    await asyncio.gather(
        append(log, session, 1, [draft(full=b"first")]),
        append(log, session, 1, [draft(full=b"second")]),
        return_exceptions=True,
    )
    await append(log, session, 2, [draft()])

    assert [await log.full_text(session, seq) for seq in (2, 3)] == [b"first", None]


@pytest.mark.rules("S1")
async def test_a_session_that_is_refused_keeps_no_text(log: SessionLog) -> None:
    session = new_session()
    await log.create_session(session, [draft(full=b"first")], IDLE)

    with pytest.raises(StoreFailure):
        await log.create_session(session, [draft(full=b"second"), draft(full=b"third")], IDLE)

    assert [await log.full_text(session.id, seq) for seq in (1, 2)] == [b"first", None]


@pytest.mark.rules("H9")
async def test_texts_go_with_their_session_and_with_its_children(log: SessionLog) -> None:
    session = await make(log)
    child = await make_child(log, session)
    grandchild = await make_child(log, child)
    bystander = await make(log)
    for each in (session, child, grandchild, bystander):
        await append(log, each, 1, [draft(full=b"whole")])

    await log.delete_session(session)

    assert [await log.full_text(gone, 2) for gone in (session, child, grandchild)] == [None] * 3
    assert await log.full_text(bystander, 2) == b"whole"


@pytest.mark.rules("H9")
async def test_a_session_made_anew_under_a_deleted_id_has_no_text_of_the_old(log: SessionLog) -> None:
    session = new_session()
    await make(log, session)

    # Given at once, so that a store may take them together.
    await asyncio.gather(
        append(log, session.id, 1, [draft(full=b"old")]),
        log.delete_session(session.id),
        make(log, session),
        append(log, session.id, 1),
    )

    assert await log.full_text(session.id, 2) is None


@pytest.mark.rules("S1")
async def test_texts_are_there_after_a_restart(open_lasting: OpenStore, tmp_path: Path) -> None:
    async with open_lasting(tmp_path) as log:
        session = await make(log)
        await append(log, session, 1, [draft(full=b"whole")])

    async with open_lasting(tmp_path) as log:
        assert await log.full_text(session, 2) == b"whole"
