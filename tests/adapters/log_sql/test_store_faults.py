"""S5: a database that is locked or read-only gives one clear line, and all goes on when the fault is gone."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event

from service.adapters.log_sql import open_sql_log
from service.core.errors import StoreFailure
from tests.adapters.log_contract.sessions_made import append, make, seqs
from tests.adapters.log_contract.test_chain import assert_chain_holds

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S5", "S2")]

SHORT_MS = 50
LONG_MS = 30_000
NOBODY = 65534


@pytest.fixture
def shell(database: Path) -> Generator[sqlite3.Connection]:
    """Give what another program does with the file; closed at the end."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        yield connection


async def test_a_write_to_a_locked_database_fails_after_the_wait_and_the_next_one_works(
    url: str, shell: sqlite3.Connection
) -> None:
    async with open_sql_log(url, busy_timeout_ms=SHORT_MS) as log:
        session, other = await make(log), await make(log)
        shell.execute("BEGIN IMMEDIATE")

        results = await asyncio.gather(
            append(log, session, 1), append(log, other, 1), log.delete_session(other), return_exceptions=True
        )

        assert [str(result) for result in results] == ["the store can't write: database is locked"] * 3
        assert {type(result) for result in results} == {StoreFailure}
        assert seqs(await log.read(session)) == [1]
        shell.execute("ROLLBACK")
        assert seqs(await append(log, session, 1)) == [2]
        await assert_chain_holds(log, session)


async def test_a_lock_that_is_let_go_in_time_is_only_waited_for(url: str, shell: sqlite3.Connection) -> None:
    async with open_sql_log(url, busy_timeout_ms=LONG_MS) as log:
        session = await make(log)
        shell.execute("BEGIN IMMEDIATE")
        begins = threading.Event()

        def note(_connection: Connection) -> None:
            begins.set()

        event.listen(Engine, "begin", note)
        waiting = asyncio.create_task(append(log, session, 1))
        assert await asyncio.to_thread(begins.wait, 5)
        event.remove(Engine, "begin", note)
        for _ in range(20):
            assert seqs(await log.read(session)) == [1]
        assert not waiting.done()

        shell.execute("ROLLBACK")

        assert seqs(await waiting) == [2]


async def test_reads_go_on_while_the_database_is_locked(url: str, shell: sqlite3.Connection) -> None:
    async with open_sql_log(url, busy_timeout_ms=SHORT_MS) as log:
        session = await make(log)
        shell.execute("BEGIN EXCLUSIVE")

        assert seqs(await log.read(session)) == [1]
        await log.check()


async def test_a_database_that_is_locked_at_the_opening_is_said_so_and_opens_later(
    url: str, shell: sqlite3.Connection
) -> None:
    async with open_sql_log(url):
        pass
    shell.execute("PRAGMA journal_mode = WAL")
    shell.execute("BEGIN IMMEDIATE")

    await assert_refused(url, "database is locked")

    shell.execute("ROLLBACK")
    async with open_sql_log(url, busy_timeout_ms=SHORT_MS) as log:
        await make(log)


async def assert_refused(url: str, reason: str) -> None:
    """Expect one clear line, also at the second try."""
    for _ in range(2):
        with pytest.raises(StoreFailure) as refusal:
            async with open_sql_log(url, busy_timeout_ms=SHORT_MS):
                pass
        assert reason in str(refusal.value)
        assert "\n" not in str(refusal.value)


@pytest.fixture
def plain_users_database(tmp_path: Path) -> Generator[Path]:
    """Give the place of a database in a folder of somebody whom rights bind: root is bound by none."""
    if sys.platform == "win32":
        pytest.skip("files have no POSIX rights on Windows")
    if os.geteuid() != 0:
        yield tmp_path / "store.db"
        return
    # Under the shared folder, since what pytest makes is closed to others.
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield folder / "store.db"
    finally:
        os.seteuid(0)
        shutil.rmtree(folder)


@pytest.mark.parametrize("what", ["file", "folder"])
async def test_a_place_that_is_read_only_is_named_and_opens_when_it_is_not(
    url: str, what: str, request: pytest.FixtureRequest
) -> None:
    # Once as the user who runs the tests, so that all is loaded that another one may not read.
    async with open_sql_log(url) as log:
        await append(log, await make(log), 1)
    database: Path = request.getfixturevalue("plain_users_database")
    place = database if what == "file" else database.parent
    url = f"sqlite:///{database}"
    async with open_sql_log(url) as log:
        session = await make(log)

    rights = place.stat().st_mode
    place.chmod(rights & 0o555)
    await assert_refused(url, f"{place} is read-only for this user")
    place.chmod(rights)

    async with open_sql_log(url) as log:
        assert seqs(await append(log, session, 1)) == [2]
        await assert_chain_holds(log, session)


@pytest.mark.parametrize("content", [b"SQLite format 3\x00", b"\x00" * 4096, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_only_begins_like_a_database_is_refused_and_left_as_it_is(
    url: str, database: Path, content: bytes
) -> None:
    database.write_bytes(content)

    asyncio.run(assert_refused(url, str(database)))

    assert database.read_bytes() == content
