"""S5: a file whose end was never written, or was lost: a clear error, or all that was acknowledged up to there."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from service.adapters.log_sql import open_sql_log
from service.core.errors import StoreFailure
from service.core.ids import SessionId
from service.ports import SessionLog
from tests.adapters.log_contract.sessions_made import append, draft, make
from tests.adapters.log_contract.test_chain import assert_chain_holds

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S5", "S2")]

SECTOR = 512
APPENDS = 10
TAIL_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """How long the write-ahead log was when a seq had been acknowledged."""

    seq: int
    wal_bytes: int


class Copies:
    """Copies of a store's files as they were at one moment, and what had been acknowledged by then."""

    def __init__(self, folder: Path, session: SessionId, acknowledged: Sequence[Acknowledged]) -> None:
        self.folder = folder
        self.session = session
        self.acknowledged = acknowledged

    def put(self, folder: Path, *, database_bytes: int | None = None, wal_bytes: int | None = None) -> str:
        """Put the files into a folder, one of them cut, and give the store's address."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, kept in (("store.db", database_bytes), ("store.db-wal", wal_bytes)):
            if (source := self.folder / name).exists():
                (folder / name).write_bytes(source.read_bytes()[:kept])
        return f"sqlite:///{folder / 'store.db'}"

    def size(self, name: str) -> int:
        return (self.folder / name).stat().st_size


def size_of(path: Path) -> int:
    return path.stat().st_size


async def write(log: SessionLog, wal: Path) -> tuple[SessionId, list[Acknowledged]]:
    """Append pairs of records, small ones and some of several pages."""
    session = await make(log)
    acknowledged = [Acknowledged(1, size_of(wal))]
    for number in range(APPENDS):
        body = b"x" * (9_000 if number % 3 == 2 else 300)
        stored = await append(log, session, acknowledged[-1].seq, [draft(body), draft(b"y" * 20)])
        acknowledged.append(Acknowledged(stored[-1].seq, size_of(wal)))
    return session, acknowledged


def copy_files(database: Path, to: Path) -> None:
    to.mkdir()
    for name in ("store.db", "store.db-wal"):
        if (source := database.with_name(name)).exists():
            shutil.copy(source, to / name)


@pytest.fixture
async def killed(url: str, database: Path, tmp_path: Path) -> Copies:
    """Give what is on disk when the process dies: nothing of the write-ahead log is in the database yet."""
    async with open_sql_log(url) as log:
        session, acknowledged = await write(log, database.with_name("store.db-wal"))
        copy_files(database, tmp_path / "killed")
    return Copies(tmp_path / "killed", session, acknowledged)


@pytest.fixture
async def killed_in_a_checkpoint(url: str, database: Path, tmp_path: Path) -> Copies:
    """Give what is on disk when the process dies while the write-ahead log is copied into the database."""
    async with open_sql_log(url) as log:
        session, acknowledged = await write(log, database.with_name("store.db-wal"))
        with closing(sqlite3.connect(database)) as connection:
            assert connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[0] == 0
            copy_files(database, tmp_path / "killed")
    return Copies(tmp_path / "killed", session, acknowledged)


@pytest.fixture
async def closed(url: str, database: Path, tmp_path: Path) -> Copies:
    """Give what is on disk after an orderly end: one file."""
    async with open_sql_log(url) as log:
        session, acknowledged = await write(log, database.with_name("store.db-wal"))
    copy_files(database, tmp_path / "closed")
    return Copies(tmp_path / "closed", session, acknowledged)


async def assert_holds(log: SessionLog, copies: Copies, least: int) -> None:
    """Expect all up to a seq, no append by half, and that the log goes on."""
    length = len(await log.read(copies.session))
    assert length >= least
    assert length % 2 == 1 or length == 0
    if length:
        await assert_chain_holds(log, copies.session)
        await append(log, copies.session, length, [draft(b"next")])
    else:
        await append(log, await make(log), 1)


async def test_a_write_ahead_log_that_is_cut_anywhere_gives_all_that_is_whole_in_it(
    killed: Copies, tmp_path: Path
) -> None:
    size = killed.size("store.db-wal")
    assert size == killed.acknowledged[-1].wal_bytes

    for cut in range(size - TAIL_BYTES, size + 1, SECTOR):
        url = killed.put(tmp_path / "cut", wal_bytes=cut)
        least = max((told.seq for told in killed.acknowledged if told.wal_bytes <= cut), default=0)
        async with open_sql_log(url) as log:
            await assert_holds(log, killed, least)
            # What was torn is gone and doesn't come back in pieces.
            assert len(await log.read(killed.session)) == least + 1


async def test_a_torn_beginning_of_a_write_ahead_log_is_as_none(killed: Copies, tmp_path: Path) -> None:
    for cut in range(0, killed.acknowledged[0].wal_bytes, SECTOR):
        async with open_sql_log(killed.put(tmp_path / "cut", wal_bytes=cut)) as log:
            await assert_holds(log, killed, 0)


async def test_a_database_that_was_being_written_is_mended_from_the_write_ahead_log(
    killed_in_a_checkpoint: Copies, tmp_path: Path
) -> None:
    copies = killed_in_a_checkpoint
    size = copies.size("store.db")

    for cut in range(size - 3 * 4096, size + 1, SECTOR):
        async with open_sql_log(copies.put(tmp_path / "cut", database_bytes=cut)) as log:
            await assert_holds(log, copies, copies.acknowledged[-1].seq)


async def test_a_torn_page_that_is_in_the_write_ahead_log_is_no_damage_while_somebody_reads(
    killed_in_a_checkpoint: Copies, tmp_path: Path
) -> None:
    copies = killed_in_a_checkpoint
    url = copies.put(tmp_path / "cut", database_bytes=copies.size("store.db") - SECTOR)

    # Whoever reads keeps the write-ahead log from being copied at the opening.
    with closing(sqlite3.connect(tmp_path / "cut" / "store.db")) as reader:
        assert reader.execute("BEGIN").execute("SELECT count(*) FROM records").fetchone() == (2 * APPENDS + 1,)
        async with open_sql_log(url) as log:
            await assert_holds(log, copies, copies.acknowledged[-1].seq)


async def test_a_database_whose_end_is_lost_is_refused_in_one_line_and_left_as_it_is(
    closed: Copies, tmp_path: Path
) -> None:
    size = closed.size("store.db")

    for cut in range(size - 4 * 4096, size, SECTOR):
        url = closed.put(tmp_path / "cut", database_bytes=cut)
        with pytest.raises(StoreFailure) as refusal:
            async with open_sql_log(url):
                pass
        assert "\n" not in str(refusal.value)
        assert str(tmp_path / "cut" / "store.db") in str(refusal.value)
        assert (tmp_path / "cut" / "store.db").read_bytes() == (closed.folder / "store.db").read_bytes()[:cut]
    async with open_sql_log(closed.put(tmp_path / "cut")) as log:
        await assert_holds(log, closed, closed.acknowledged[-1].seq)


async def test_a_beginning_of_a_database_is_refused_too(closed: Copies, tmp_path: Path) -> None:
    for cut in (16, 99, 100, SECTOR, 4096, 4096 + SECTOR):
        with pytest.raises(StoreFailure) as refusal:
            async with open_sql_log(closed.put(tmp_path / "cut", database_bytes=cut)):
                pass
        assert "\n" not in str(refusal.value)


async def test_an_emptied_database_does_not_cost_its_write_ahead_log(killed: Copies, tmp_path: Path) -> None:
    url = killed.put(tmp_path / "cut", database_bytes=0)

    for _ in range(2):
        with pytest.raises(StoreFailure, match="it is empty, but its write-ahead log is not"):
            async with open_sql_log(url):
                pass

    assert size_of(tmp_path / "cut" / "store.db-wal") == killed.size("store.db-wal")
