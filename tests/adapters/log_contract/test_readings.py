"""S1, S3, R5: a reading's log is appended to and read as a session's is, in the same order of places."""

import asyncio
from pathlib import Path

import pytest

from service.core import chain
from service.core.errors import SequenceConflict, StoreFailure
from service.core.ids import LOCAL_OWNER, OwnerId, ReadingId
from service.core.reading.status import ReadingStatus
from tests.adapters.log_contract import sessions_made
from tests.adapters.log_contract.readings_made import (
    EVERY_FIELD,
    FINISHED,
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

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S1", "S2", "R5")]

NOWHERE = ReadingId("rdg_none")


async def test_what_was_appended_is_read_back_in_order(log: Store) -> None:
    made = new_reading()
    first = await log.create_reading(made, [draft(b"one"), draft(b"two", record_type="reading_planned")], [], QUEUED)
    then = await append(log, made.id, 2, [draft(b"three"), draft(b"four", record_type="usage")])

    stored = [*first, *then]
    assert await log.read_reading(made.id) == stored
    assert [(each.seq, each.type, each.body) for each in stored] == [
        (1, "gate", b"one"),
        (2, "reading_planned", b"two"),
        (3, "gate", b"three"),
        (4, "usage", b"four"),
    ]
    assert {each.reading for each in stored} == {made.id}
    assert await log.last_pos() == stored[-1].pos


async def test_a_window_of_records_is_read(log: Store) -> None:
    reading = await make(log, created=b"x" * 10)
    stored = await append(log, reading, 1, [draft(b"x" * 10) for _ in range(5)])

    async def seqs(after_pos: int = 0, limit: int | None = None, max_bytes: int | None = None) -> list[int]:
        found = await log.read_reading(reading, after_pos=after_pos, limit=limit, max_bytes=max_bytes)
        return [record.seq for record in found]

    assert await seqs(after_pos=stored[1].pos) == [4, 5, 6]
    assert await seqs(limit=2) == [1, 2]
    assert await seqs(max_bytes=1) == [1]
    assert await seqs(max_bytes=20) == [1, 2]
    assert await seqs(max_bytes=21) == [1, 2, 3]
    assert await seqs(after_pos=stored[-1].pos) == []


@pytest.mark.rules("S3")
async def test_the_chain_and_the_head_are_those_of_the_bodies(log: Store) -> None:
    reading = await make(log, created=b"one")
    await append(log, reading, 1, [draft(b"two"), draft(b"three")])

    expected = chain.GENESIS
    records = await log.read_reading(reading)
    for record, body in zip(records, [b"one", b"two", b"three"], strict=True):
        expected = chain.link(expected, body)
        assert record.hash == expected
    row = await log.reading(reading)
    assert row is not None
    assert row.head == chain.Head(seq=3, hash=expected)


async def test_an_append_elsewhere_than_at_the_end_is_refused_and_changes_nothing(log: Store) -> None:
    reading = await make(log, status=RUNNING)
    before = await log.reading(reading)

    for wrong in (0, 2):
        with pytest.raises(SequenceConflict):
            await append(log, reading, wrong, [draft(), draft()], FINISHED)

    assert await log.reading(reading) == before
    assert len(await log.read_reading(reading)) == 1
    with pytest.raises(SequenceConflict):
        await append(log, NOWHERE, 0)


async def test_of_two_appends_at_the_same_place_one_wins(log: Store) -> None:
    reading = await make(log)

    results = await asyncio.gather(*(append(log, reading, 1) for _ in range(5)), return_exceptions=True)

    assert [isinstance(result, SequenceConflict) for result in results] == [False, True, True, True, True]


@pytest.mark.rules("H6")
async def test_places_grow_over_sessions_and_readings_alike(log: Store) -> None:
    session, reading = await sessions_made.make(log), await make(log)

    places: list[int] = []
    for seq in range(1, 5):
        places += [record.pos for record in await append(log, reading, seq)]
        places += [record.pos for record in await sessions_made.append(log, session, seq)]

    assert places == sorted(set(places))
    assert await log.last_pos() == places[-1]


async def test_a_row_tells_what_was_said_last(log: Store) -> None:
    made = new_reading(owner=OwnerId("ann"))
    await make(log, made, created=b"first")
    row = await log.reading(made.id)
    assert row is not None
    assert (row.id, row.owner, row.created_at, row.updated_at) == (made.id, "ann", START, START)
    assert (row.status, row.created, row.head.seq) == (QUEUED, b"first", 1)

    await append(log, made.id, 1, [], EVERY_FIELD)

    row = await log.reading(made.id)
    assert row is not None
    assert (row.status, row.updated_at, row.created_at) == (EVERY_FIELD, LATER, START)


@pytest.mark.rules("K3")
async def test_readings_of_an_owner_are_listed_newest_first_page_by_page(log: Store) -> None:
    ours = [await make(log) for _ in range(5)]
    theirs = await make(log, new_reading(owner=OwnerId("ann")))

    page = await log.readings(owner=LOCAL_OWNER, limit=3)
    rest = await log.readings(owner=LOCAL_OWNER, limit=3, before=page[-1].id)

    assert [row.id for row in page] == ours[:1:-1]
    assert [row.id for row in rest] == ours[1::-1]
    assert [row.id for row in await log.readings(owner=OwnerId("ann"), limit=3)] == [theirs]
    assert await log.readings(owner=OwnerId("bob"), limit=3) == []


async def test_unfinished_readings_are_those_to_go_on_with(log: Store) -> None:
    queued = await make(log)
    running = await make(log, status=RUNNING)
    finished = await make(log, status=FINISHED)
    ended = await make(log)
    await append(log, ended, 1, status=ReadingStatus(state=EVERY_FIELD.state))

    assert await log.unfinished_readings() == [queued, running]

    await append(log, finished, 1, status=RUNNING)
    assert await log.unfinished_readings() == [queued, running, finished]


async def test_where_there_is_no_reading_there_is_nothing(log: Store) -> None:
    assert await log.reading(NOWHERE) is None
    assert await log.read_reading(NOWHERE) == []
    assert await text_of(log, NOWHERE) is None
    assert await log.unfinished_readings() == []


async def test_an_id_is_taken_once(log: Store) -> None:
    made = new_reading()
    await make(log, made, [b"first"], created=b"first")

    with pytest.raises(StoreFailure, match="already"):
        await make(log, made, [b"second"], created=b"second")

    assert [record.body for record in await log.read_reading(made.id)] == [b"first"]
    assert await text_of(log, made.id) == b"first"


async def test_all_is_there_after_a_restart(open_lasting: OpenStore, tmp_path: Path) -> None:
    async with open_lasting(tmp_path) as log:
        reading = await make(log, documents=[b"", b"a" * 200_000])
        await append(log, reading, 1, status=RUNNING)
        row, records, last_pos = await log.reading(reading), await log.read_reading(reading), await log.last_pos()

    async with open_lasting(tmp_path) as log:
        assert await log.reading(reading) == row
        assert await log.read_reading(reading) == records
        assert await log.last_pos() == last_pos
        assert await log.unfinished_readings() == [reading]
        assert [await text_of(log, reading, document) for document in (1, 2)] == [b"", b"a" * 200_000]
        (next_,) = await append(log, reading, 2)
        assert (next_.seq, next_.pos) == (3, last_pos + 1)
