"""H9, S7, H3: what goes with a reading, by hand or by age, and that no pos is given twice."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from service.core.errors import SequenceConflict, StoreFailure
from service.core.ids import LOCAL_OWNER, ReadingId
from service.core.reading.status import ReadingStatus
from service.core.request_key import KeyedReading
from tests.adapters.log_contract import sessions_made
from tests.adapters.log_contract.readings_made import (
    FINISHED,
    KEY,
    QUEUED,
    RUNNING,
    append,
    draft,
    make,
    new_reading,
    text_of,
)
from tests.adapters.log_contract.sessions_made import LATER, START
from tests.adapters.log_contract.stores import OpenStore, Store

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H9", "S2")]

BEFORE = START + timedelta(seconds=1)
"""Between the making of a reading and the appends to it."""

LONG = b"x" * (9 * 1024 * 1024)


@pytest.mark.parametrize("text", [b"short", LONG], ids=["short", "long"])
async def test_a_deleted_reading_is_gone_with_its_log_and_its_texts(log: Store, text: bytes) -> None:
    reading, other = await make(log, documents=[text], key=KEY), await make(log, documents=[b"stays"])
    await append(log, reading, 1)

    assert await log.delete_reading(reading) is True

    assert await log.reading(reading) is None
    assert await log.read_reading(reading) == []
    assert await text_of(log, reading) is None
    assert await log.keyed_reading(KEY) is None
    assert await log.unfinished_readings() == [other]
    assert [row.id for row in await log.readings(owner=LOCAL_OWNER, limit=9)] == [other]
    assert await text_of(log, other) == b"stays"
    assert await log.delete_reading(reading) is False


async def test_nothing_is_appended_to_a_deleted_reading(log: Store) -> None:
    reading = await make(log)

    results = await asyncio.gather(
        append(log, reading, 1), log.delete_reading(reading), append(log, reading, 2), return_exceptions=True
    )
    with pytest.raises(SequenceConflict):
        await append(log, reading, 2)

    # A deletion may begin a moment later than what was asked for behind it.
    assert results[1] is True
    assert await log.read_reading(reading) == []


async def test_a_reading_made_anew_under_a_deleted_id_has_nothing_of_the_old(log: Store) -> None:
    made = new_reading()
    await make(log, made, [LONG, b"old"], key=KEY)
    await append(log, made.id, 1)

    await log.delete_reading(made.id)
    await make(log, made, [b"new"], created=b"new")

    assert [record.body for record in await log.read_reading(made.id)] == [b"new"]
    assert [await text_of(log, made.id, number) for number in (1, 2)] == [b"new", None]
    assert await log.keyed_reading(KEY) is None


async def test_a_pos_is_not_given_twice_though_its_record_is_gone(log: Store) -> None:
    reading = await make(log)
    (last,) = await append(log, reading, 1)
    await log.delete_reading(reading)

    assert await log.last_pos() == last.pos
    (record,) = await log.read_reading(await make(log))
    assert record.pos > last.pos


async def test_a_pos_is_not_given_twice_after_a_restart_either(open_lasting: OpenStore, tmp_path: Path) -> None:
    async with open_lasting(tmp_path) as log:
        reading = await make(log)
        (last,) = await append(log, reading, 1)
        await log.delete_reading(reading)

    async with open_lasting(tmp_path) as log:
        assert await log.last_pos() == last.pos
        (record,) = await log.read_reading(await make(log))
    assert record.pos > last.pos


@pytest.mark.rules("H3")
async def test_a_reading_is_kept_with_its_key(log: Store) -> None:
    assert await log.keyed_reading(KEY) is None

    reading = await make(log, key=KEY)

    known = KeyedReading(body=KEY.body, reading=reading)
    assert await log.keyed_reading(replace(KEY, body=b"other")) == known
    assert await log.keyed_reading(replace(KEY, path="/sessions")) is None


@pytest.mark.rules("H3")
@pytest.mark.parametrize("text", [b"short", LONG], ids=["short", "long"])
async def test_the_first_of_two_with_a_key_stays_and_both_readings_are_kept(log: Store, text: bytes) -> None:
    first, second = await make(log, documents=[text], key=KEY), await make(log, documents=[text], key=KEY)

    known = await log.keyed_reading(KEY)

    assert known is not None
    assert known.reading == first
    assert await log.reading(second) is not None


@pytest.mark.rules("H3")
async def test_a_reading_that_is_refused_keeps_no_key(log: Store) -> None:
    made = new_reading()
    await make(log, made)
    with pytest.raises(StoreFailure):
        await make(log, made, key=KEY)
    assert await log.keyed_reading(KEY) is None


@pytest.mark.rules("H3")
async def test_old_keys_of_readings_are_forgotten(log: Store) -> None:
    await make(log, key=KEY)
    await log.forget_keys(START)
    assert await log.keyed_reading(KEY) is not None
    await log.forget_keys(LATER)
    assert await log.keyed_reading(KEY) is None


@pytest.mark.rules("S7")
async def test_readings_that_are_old_and_finished_are_removed_with_all_they_have(log: Store) -> None:
    old = await make(log, documents=[LONG], status=FINISHED, key=KEY)
    touched = await make(log, status=FINISHED)
    await append(log, touched, 1, status=FINISHED)

    assert list(await log.prune_readings(BEFORE, limit=10)) == [old]

    assert await log.reading(old) is None
    assert await text_of(log, old) is None
    assert await log.keyed_reading(KEY) is None
    assert list(await log.prune_readings(LATER, limit=10)) == []
    assert list(await log.prune_readings(LATER + timedelta(microseconds=1), limit=10)) == [touched]


@pytest.mark.rules("S7")
@pytest.mark.parametrize("status", [QUEUED, RUNNING])
async def test_a_reading_that_is_not_finished_stays_however_old(log: Store, status: ReadingStatus) -> None:
    reading = await make(log, status=status)

    assert list(await log.prune_readings(LATER + timedelta(days=999), limit=10)) == []

    assert await text_of(log, reading) == b"text"


@pytest.mark.rules("S7")
async def test_a_page_is_no_longer_than_asked_for_and_the_oldest_go_first(log: Store) -> None:
    made = [await make(log, status=FINISHED) for _ in range(5)]
    last_pos = await log.last_pos()

    pages = [list(await log.prune_readings(BEFORE, limit=2)) for _ in range(4)]

    assert pages == [made[:2], made[2:4], made[4:], []]
    assert await log.last_pos() == last_pos


@pytest.mark.rules("S7", "K3")
async def test_sessions_and_readings_know_nothing_of_each_other(log: Store) -> None:
    session = await sessions_made.make(log)
    reading = await make(log, status=FINISHED, key=KEY)
    as_session, as_reading = sessions_made.new_session(reading).id, ReadingId(session)

    assert await log.session(as_session) is None
    assert await log.read(as_session) == []
    assert await log.family(as_session) == []
    assert await log.read_family(as_session, after_pos=0, limit=9) == []
    assert list(await log.delete_session(as_session)) == []
    assert await log.update_session(as_session, title="x", metadata=None, now=LATER) is None
    assert [row.id for row in await log.sessions(owner=None, limit=9)] == [session]
    assert [row.id for row in await log.sessions(owner=LOCAL_OWNER, limit=9)] == [session]
    assert [record.session for record in await log.read_all(LOCAL_OWNER, after_pos=0, limit=9)] == [session]
    assert await log.keyed(KEY) is None
    with pytest.raises(SequenceConflict):
        await sessions_made.append(log, as_session, 1)
    with pytest.raises(StoreFailure):
        await sessions_made.make_child(log, as_session)

    assert await log.reading(as_reading) is None
    assert await log.read_reading(as_reading) == []
    assert await text_of(log, as_reading) is None
    assert await log.delete_reading(as_reading) is False
    assert [row.id for row in await log.readings(owner=LOCAL_OWNER, limit=9)] == [reading]
    with pytest.raises(SequenceConflict):
        await append(log, as_reading, 1)

    assert list(await log.prune(LATER, limit=9)) == [session]
    assert list(await log.prune_readings(LATER, limit=9)) == [reading]


async def test_what_waits_or_runs_of_one_kind_is_not_listed_with_the_other(log: Store) -> None:
    session, reading = await sessions_made.make(log), await make(log, status=RUNNING)
    await sessions_made.append(log, session, 1, status=sessions_made.EVERY_FIELD)

    assert await log.busy_sessions() == [session]
    assert [row.id for row in await log.awaiting(LOCAL_OWNER)] == [session]
    assert await log.unfinished_readings() == [reading]


async def test_an_id_is_taken_for_both(log: Store) -> None:
    session, reading = await sessions_made.make(log), await make(log)

    with pytest.raises(StoreFailure, match="already"):
        await make(log, new_reading(session))
    with pytest.raises(StoreFailure, match="already"):
        await sessions_made.make(log, sessions_made.new_session(reading))

    assert len(await log.read(session)) == len(await log.read_reading(reading)) == 1


@pytest.mark.rules("H3")
async def test_a_key_of_one_kind_does_not_answer_for_the_other(log: Store) -> None:
    session = sessions_made.new_session()
    await log.create_session(session, [sessions_made.draft(turn=None)], sessions_made.IDLE, key=KEY)

    await make(log, key=KEY)

    assert await log.keyed_reading(KEY) is None
    kept = await log.keyed(KEY)
    assert kept is not None
    assert kept.session == session.id


async def test_nothing_of_a_refused_reading_is_kept(log: Store) -> None:
    made = new_reading()
    await make(log, made)
    with pytest.raises(StoreFailure):
        await log.create_reading(made, [draft(b"second")], [LONG, LONG], QUEUED)
    assert [await text_of(log, made.id, number) for number in (1, 2)] == [b"text", None]
