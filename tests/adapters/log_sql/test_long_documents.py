"""S1, S2, R5: long texts come and go in slices, between other writes, and are there as a whole or not at all."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest

from service.adapters.log_sql import open_sql_log
from service.adapters.log_sql.audit import open_audit
from service.core.errors import StoreFailure
from service.core.ids import LOCAL_OWNER
from tests.adapters.log_contract import sessions_made
from tests.adapters.log_contract.readings_made import FINISHED, KEY, append, make, new_reading, text_of
from tests.adapters.log_contract.sessions_made import LATER
from tests.adapters.log_contract.stores import Store
from tests.adapters.log_sql.commits import BOUND_S, Commits, Fault, commits_watched
from tests.adapters.log_sql.conftest import Look

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S1", "S2", "R5")]

SLICE = 4 * 1024 * 1024
LONG = bytes(range(256)) * (5 * SLICE // 256) + b"and a bit"
"""Six slices."""

HELD = "SELECT count(*) FROM document_texts"
HIDDEN = "SELECT count(*) FROM sessions WHERE kind = 'hidden'"
REFUSE_A_PART = (
    "CREATE TRIGGER refusal BEFORE INSERT ON document_texts WHEN NEW.part = 100 "
    "BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END"
)


async def reached(commits: Commits) -> None:
    assert await asyncio.to_thread(commits.reached.wait, BOUND_S)


async def until_nothing_is_hidden(log: Store, look: Look) -> None:
    """Write on until what is removed meanwhile is gone: each write stands behind a slice of it."""
    async with asyncio.timeout(BOUND_S):
        while look(HIDDEN) != [(0,)]:
            await sessions_made.make(log)


async def in_the_middle_of_making(log: Store, commits: Commits) -> asyncio.Task[object]:
    """Begin to make a long reading, and hold the writer where some of its text is on disk."""
    commits.hold(passing=3)
    making: asyncio.Task[object] = asyncio.create_task(make(log, documents=[LONG], key=KEY))
    await reached(commits)
    return making


async def test_a_short_text_is_written_in_one_transaction(log: Store) -> None:
    with commits_watched() as commits:
        await make(log, documents=[b"x" * (SLICE // 2)], key=KEY)

    assert commits.begun == 1


async def test_a_long_text_is_written_slice_by_slice(log: Store) -> None:
    with commits_watched() as commits:
        reading = await make(log, documents=[LONG])

    assert commits.begun == 7
    assert await text_of(log, reading) == LONG


async def test_other_writes_go_on_while_a_long_text_is_written(log: Store) -> None:
    session = await sessions_made.make(log)
    making = asyncio.create_task(make(log, documents=[LONG] * 3))

    appended = 0
    while not making.done():
        appended += len(await sessions_made.append(log, session, appended + 1))

    assert appended > 12
    assert len(await log.read(session)) == appended + 1
    assert await text_of(log, await making, 3) == LONG


async def test_nothing_of_a_reading_is_seen_before_it_is_whole(log: Store, look: Look) -> None:
    with commits_watched() as commits:
        making = await in_the_middle_of_making(log, commits)

        assert look(HELD) != [(0,)]
        assert await log.readings(owner=LOCAL_OWNER, limit=9) == []
        assert await log.unfinished_readings() == []
        assert await log.keyed_reading(KEY) is None
        assert await log.sessions(owner=None, limit=9) == []
        assert await log.busy_sessions() == []
        commits.let_go()
        await making

    assert len(await log.readings(owner=LOCAL_OWNER, limit=9)) == 1
    assert look(HIDDEN) == [(0,)]


def _named_and_homeless(url: str) -> list[str]:
    with open_audit(url) as audit:
        return [*audit.sessions(), *audit.readings(), *audit.homeless()]


@pytest.mark.rules("S4")
async def test_what_a_killed_process_left_of_a_reading_is_removed_at_the_next_start(
    log: Store, database: Path, tmp_path: Path
) -> None:
    whole = await make(log, documents=[b"whole"])
    copy = tmp_path / "copy"
    copy.mkdir()
    with commits_watched() as commits:
        making = await in_the_middle_of_making(log, commits)
        for name in ("store.db", "store.db-wal"):
            shutil.copy(database.with_name(name), copy / name)
        commits.let_go()
        await making

    def look(statement: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(copy / "store.db")) as connection:
            return connection.execute(statement).fetchall()

    url = f"sqlite:///{copy / 'store.db'}"
    assert look(HIDDEN) == [(1,)]
    assert await asyncio.to_thread(_named_and_homeless, url) == [whole]
    async with open_sql_log(url) as reopened:
        await until_nothing_is_hidden(reopened, look)
        assert [row.id for row in await reopened.readings(owner=LOCAL_OWNER, limit=9)] == [whole]
        assert look(HELD) == [(1,)]


async def test_a_reading_whose_making_is_cancelled_leaves_nothing(log: Store, look: Look) -> None:
    with commits_watched() as commits:
        making = await in_the_middle_of_making(log, commits)
        making.cancel()
        await asyncio.gather(making, return_exceptions=True)
        commits.let_go()

    await until_nothing_is_hidden(log, look)

    assert look(HELD) == [(0,)]
    assert await log.readings(owner=LOCAL_OWNER, limit=9) == []


@pytest.mark.rules("S5")
async def test_a_part_that_cannot_be_written_fails_its_reading_and_no_other_write(log: Store, look: Look) -> None:
    session = await sessions_made.make(log)
    look(REFUSE_A_PART)

    results = await asyncio.gather(
        make(log, documents=[LONG], key=KEY),
        sessions_made.append(log, session, 1),
        make(log, documents=[b"short"]),
        return_exceptions=True,
    )
    await until_nothing_is_hidden(log, look)

    assert [isinstance(result, StoreFailure) for result in results] == [True, False, False]
    assert look(HELD) == [(1,)]
    assert await log.keyed_reading(KEY) is None


@pytest.mark.rules("S5")
@pytest.mark.parametrize("text", [b"short", LONG], ids=["short", "long"])
async def test_a_commit_that_fails_at_any_place_leaves_nothing_of_a_reading(
    log: Store, look: Look, text: bytes
) -> None:
    made = new_reading()
    for before in range(7 if text is LONG else 1):
        with commits_watched() as commits:
            commits.faults = [*[Fault.NONE] * before, Fault.COMMIT_FAILS]
            with pytest.raises(StoreFailure, match="disk I/O error"):
                await make(log, made, [text])
        await until_nothing_is_hidden(log, look)
        assert look(HELD) == [(0,)]
        assert await log.reading(made.id) is None

    await make(log, made, [text])
    assert await text_of(log, made.id) == text


@pytest.mark.rules("H9")
async def test_a_deletion_goes_on_though_nobody_waits_for_it(log: Store, look: Look) -> None:
    reading = await make(log, documents=[LONG])
    deleting = asyncio.create_task(log.delete_reading(reading))
    await asyncio.sleep(0)
    deleting.cancel()
    await asyncio.gather(deleting, return_exceptions=True)
    await sessions_made.make(log)

    await until_nothing_is_hidden(log, look)

    assert look(HELD) == [(0,)]
    assert await log.reading(reading) is None


@pytest.mark.rules("H9", "S7")
async def test_other_writes_go_on_while_long_texts_are_removed(log: Store, look: Look) -> None:
    session = await sessions_made.make(log)
    for _ in range(2):
        await make(log, documents=[LONG], status=FINISHED)
    pruning = asyncio.create_task(_prune(log))

    appended = 0
    while not pruning.done():
        appended += len(await sessions_made.append(log, session, appended + 1))

    assert await pruning == 2
    assert appended > 8
    assert look(HELD) == look(HIDDEN) == [(0,)]


async def _prune(log: Store) -> int:
    return len(await log.prune_readings(LATER, limit=9))


async def test_appends_to_a_reading_share_a_commit_with_those_to_sessions(log: Store) -> None:
    session, reading = await sessions_made.make(log), await make(log)

    with commits_watched() as commits:
        commits.hold()
        first = asyncio.create_task(sessions_made.make(log))
        await reached(commits)
        both = [
            asyncio.create_task(sessions_made.append(log, session, 1)),
            asyncio.create_task(append(log, reading, 1)),
        ]
        await asyncio.sleep(0)
        commits.let_go()
        await asyncio.gather(first, *both)

    assert commits.begun == 2


async def test_a_long_text_is_not_held_twice(url: str) -> None:
    async with open_sql_log(url) as log:
        text = b"0123456789abcdef" * (4 * SLICE // 16)
        tracemalloc.start()
        try:
            reading = await make(log, documents=[text])
            _, to_write = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            found = await text_of(log, reading)
            _, to_read = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            part = await log.document_text(reading, 1, start=SLICE - 10, end=SLICE + 10)
            _, for_a_range = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert found == text
    assert part == text[SLICE - 10 : SLICE + 10]
    assert to_write < len(text) // 4
    assert to_read < len(text) * 3 // 2
    assert for_a_range - len(text) < SLICE // 4


@pytest.mark.rules("H8", "H9")
async def test_a_removal_that_the_closing_of_the_store_cut_short_is_ended_after_the_next_start(
    url: str, look: Look
) -> None:
    with commits_watched() as commits:
        async with open_sql_log(url) as log:
            reading = await make(log, documents=[LONG])
            commits.hold(passing=1)
            deleting = asyncio.create_task(log.delete_reading(reading))
            await reached(commits)
            asyncio.get_running_loop().call_soon(commits.let_go)

    with pytest.raises(StoreFailure, match="closed"):
        await deleting
    assert look(HIDDEN) == [(1,)]

    async with open_sql_log(url) as log:
        assert await log.reading(reading) is None
        await until_nothing_is_hidden(log, look)
    assert look(HELD) == [(0,)]
