"""S5: on a full disk a write fails with one clear line, nothing acknowledged is lost, and later all goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from pathlib import Path

import pytest

from service.adapters.log_sql import open_sql_log
from service.core.errors import ErrorKind, StoreFailure
from service.core.ids import SessionId
from service.core.records import Outcome, TurnFinished
from service.ports import SessionLog
from tests.adapters.log_contract.sessions_made import append, draft, make, seqs
from tests.adapters.log_contract.test_chain import assert_chain_holds
from tests.adapters.log_sql.conftest import Look
from tests.adapters.log_sql.small_disk import SmallDisk, no_file_larger_than, small_disk
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, say

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S5", "S2")]

BIG = b"x" * 100_000


@pytest.fixture
def disk(tmp_path: Path) -> Generator[SmallDisk]:
    with small_disk(tmp_path / "disk") as mounted:
        yield mounted


def url_on(disk: SmallDisk) -> str:
    return f"sqlite:///{disk.folder / 'store.db'}"


async def append_until_refused(log: SessionLog, session: SessionId) -> tuple[int, StoreFailure]:
    """Append until it fails; give the last seq that was acknowledged, and the failure."""
    seq = 1
    while True:
        try:
            (stored,) = await append(log, session, seq, [draft(BIG)])
        except StoreFailure as failure:
            return seq, failure
        seq = stored.seq


async def test_a_disk_that_fills_up_refuses_what_does_not_fit_and_loses_nothing(disk: SmallDisk) -> None:
    async with open_sql_log(url_on(disk)) as log:
        session = await make(log)

        last, failure = await append_until_refused(log, session)

        assert str(failure) == "the store can't write: database or disk is full"
        assert type(failure) is StoreFailure
        assert last > 3
        assert seqs(await log.read(session)) == list(range(1, last + 1))
        await log.check()
        await assert_chain_holds(log, session)


async def test_when_there_is_room_again_the_next_write_works(disk: SmallDisk) -> None:
    async with open_sql_log(url_on(disk)) as log:
        session = await make(log)
        disk.fill()
        last, _ = await append_until_refused(log, session)

        disk.empty()

        assert seqs(await append(log, session, last, [draft(BIG), draft()])) == [last + 1, last + 2]
        await assert_chain_holds(log, session)


async def test_a_store_that_was_closed_on_a_full_disk_has_all_that_was_acknowledged(disk: SmallDisk) -> None:
    async with open_sql_log(url_on(disk)) as log:
        session = await make(log)
        last, _ = await append_until_refused(log, session)
        disk.fill()

    for _ in range(2):
        async with open_sql_log(url_on(disk)) as log:
            assert seqs(await log.read(session)) == list(range(1, last + 1))
            await assert_chain_holds(log, session)
            with pytest.raises(StoreFailure, match="full"):
                await append(log, session, last, [draft(BIG * 5)])


async def test_a_full_disk_is_said_at_the_first_opening_and_forgotten_at_the_next(disk: SmallDisk) -> None:
    disk.fill()

    with pytest.raises(StoreFailure) as refusal:
        async with open_sql_log(url_on(disk)):
            pass

    assert "\n" not in str(refusal.value)
    assert "full" in str(refusal.value) or "No space left" in str(refusal.value)
    disk.empty()
    async with open_sql_log(url_on(disk)) as log:
        await append(log, await make(log), 1)


async def test_a_write_that_the_system_cuts_off_fails_alone_and_the_next_one_works(
    log: SessionLog, database: Path, look: Look
) -> None:
    session, other = await make(log), await make(log)
    size = database.with_name("store.db-wal").stat().st_size

    with no_file_larger_than(size + 50_000):
        with pytest.raises(StoreFailure) as failure:
            await append(log, session, 1, [draft(BIG)])
        assert seqs(await append(log, other, 1)) == [2]

    assert str(failure.value).startswith("the store can't write: ")
    assert "\n" not in str(failure.value)
    assert seqs(await append(log, session, 1, [draft(BIG)])) == [2]
    for each in (session, other):
        await assert_chain_holds(log, each)
    assert look("PRAGMA integrity_check") == [("ok",)]


async def test_writes_that_come_together_are_each_kept_or_told_that_they_are_not(disk: SmallDisk) -> None:
    async with open_sql_log(url_on(disk)) as log:
        sessions = [await make(log) for _ in range(5)]
        disk.fill(leave_bytes=160_000)

        results = await asyncio.gather(
            *(append(log, session, 1, [draft(BIG * 9 if at == 2 else b"y")]) for at, session in enumerate(sessions)),
            return_exceptions=True,
        )

        kept = [2 if isinstance(result, list) else 1 for result in results]
        assert kept[2] == 1
        assert [len(await log.read(session)) for session in sessions] == kept
        disk.empty()
        for session, last in zip(sessions, kept, strict=True):
            assert seqs(await append(log, session, last, [draft(BIG)])) == [last + 1]
            await assert_chain_holds(log, session)


@pytest.mark.cases(25)
async def test_a_turn_whose_answer_does_not_fit_fails_visibly_and_the_next_one_works(disk: SmallDisk) -> None:
    async with open_sql_log(url_on(disk)) as log:
        house = House(ScriptedLlama(say("long " * 100_000), say("It is noon.")), log=log)
        session = await house.session()
        disk.fill(leave_bytes=160_000)

        view = await house.run(session)

        assert (view.outcome, view.error and view.error.kind) == (Outcome.FAILED, ErrorKind.STORE)
        disk.empty()
        assert (await house.run(session)).content == "It is noon."
        await assert_chain_holds(log, session)
        ended = [record.outcome for record in await house.records(session) if isinstance(record, TurnFinished)]
        assert ended == [Outcome.FAILED, Outcome.ANSWERED]
