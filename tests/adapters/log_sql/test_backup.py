"""D2: a backup is the store as it was at one moment, whole in one file, and nobody waits for it."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest

from service.adapters.log_sql import SqlLog, open_sql_log
from service.adapters.log_sql.audit import open_audit
from service.adapters.log_sql.backup import back_up
from service.core.ids import SessionId
from service.core.verification import Fault
from tests.adapters.log_sql.copied_stores import (
    NOW,
    RECORDS,
    SESSION,
    assert_no_backup,
    back_up_all,
    bodies,
    make_old_store,
    make_store,
    names_in,
    schema_in,
)
from tests.adapters.log_sql.old_databases import ENDED
from tests.cli.stored_logs import run_sql, url_of, write_log

pytestmark = pytest.mark.rules("D2")

PATIENCE_S = 20


@pytest.fixture
def to(tmp_path: Path) -> Path:
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups" / "copy.db"


@pytest.fixture
def store(database: Path) -> Path:
    make_store(database)
    return database


def verified(path: Path) -> dict[SessionId, tuple[Fault | None, int]]:
    """Give what is wrong with each session, and its last seq."""
    with open_audit(url_of(path)) as audit:
        verdicts = {session: audit.verify(session) for session in audit.sessions()}
    return {session: (verdict.fault, verdict.head.seq) for session, verdict in verdicts.items() if verdict}


class Writer:
    """Writes a session through the open store whenever the copying gives a sign, and waits until that is on disk."""

    def __init__(self, log: SqlLog, folder: Path) -> None:
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._folder = folder
        self.written_bytes: list[int] = []
        """How much of the copy there was then."""

    def write(self) -> None:
        (part,) = self._folder.glob(".copy.db.*.part")
        self.written_bytes.append(part.stat().st_size)
        session = SessionId(f"ses_written_{len(self.written_bytes)}")
        writing = write_log(self._log, session, 4)
        asyncio.run_coroutine_threadsafe(writing, self._loop).result(PATIENCE_S)


@pytest.mark.anyio
@pytest.mark.rules("S2", "S3")
async def test_writes_are_acknowledged_while_a_backup_is_taken_and_the_backup_has_all_from_before(
    store: Path, to: Path
) -> None:
    before = bodies(store)
    async with open_sql_log(url_of(store)) as log:
        writer = Writer(log, to.parent)
        made = await asyncio.to_thread(back_up_all, store, to, writer.write)
        after = bodies(store)

    assert writer.written_bytes[0] < made.size_bytes
    assert bodies(to) == before == after[: len(before)]
    assert len(after) == len(before) + 4 * len(writer.written_bytes)
    assert (made.contents.sessions, made.contents.readings, made.contents.wrong) == (1, 0, 0)
    assert made.contents.last_pos == before[-1][0]
    assert await asyncio.to_thread(verified, to) == {SESSION: (None, RECORDS)}


@pytest.mark.anyio
async def test_a_busy_writer_leaves_a_beginning_of_what_it_wrote_and_never_a_part_of_an_append(
    store: Path, to: Path
) -> None:
    made = asyncio.Event()

    async def write_on() -> int:
        number = 0
        while not made.is_set():
            number += 1
            await write_log(log, SessionId(f"ses_{number:06}"), 4)
        return number

    async with open_sql_log(url_of(store)) as log:
        writing = asyncio.create_task(write_on())
        backup = await asyncio.to_thread(back_up_all, store, to)
        made.set()
        async with asyncio.timeout(PATIENCE_S):
            assert await writing > 0
        written = bodies(store)

    copied = bodies(to)
    assert RECORDS <= len(copied) < len(written)
    assert copied == written[: len(copied)]
    assert backup.contents.wrong == 0


@pytest.mark.skipif(sys.platform == "win32", reason="files have no POSIX rights on Windows")
def test_a_backup_is_one_file_for_its_owners_eyes(store: Path, to: Path) -> None:
    back_up_all(store, to)

    assert names_in(to.parent) == ["copy.db"]
    assert oct(stat.S_IMODE(to.stat().st_mode)) == "0o600"
    assert run_sql(to, "PRAGMA journal_mode") == [("delete",)]


def test_what_is_in_the_write_ahead_log_alone_is_in_the_backup(store: Path, to: Path) -> None:
    with closing(sqlite3.connect(store)) as left_open:
        left_open.execute("UPDATE sessions SET title = 'new'")
        left_open.commit()
        assert store.with_name("store.db-wal").stat().st_size > 0
        back_up_all(store, to)

    assert run_sql(to, "SELECT title FROM sessions") == [("new",)]


def test_what_was_deleted_is_not_in_the_backup(store: Path, to: Path) -> None:
    assert b"message 100 " in store.read_bytes()
    # Some builds of SQLite overwrite what is deleted, unless they are told not to.
    run_sql(store, "PRAGMA secure_delete = OFF", "DELETE FROM full_results", "DELETE FROM records")
    assert b"message 100 " in store.read_bytes()

    made = back_up_all(store, to)

    assert b"message 100 " not in to.read_bytes()
    assert made.size_bytes < store.stat().st_size


def test_in_a_folder_it_gets_a_name_with_the_time(store: Path, to: Path) -> None:
    assert back_up_all(store, to.parent).path == to.with_name("store-20300102T030405Z.db")
    assert_no_backup(store, to.parent, "store-20300102T030405Z.db is there already")


def test_a_file_that_is_there_is_replaced_only_by_force(store: Path, to: Path) -> None:
    to.write_text("mine")

    assert_no_backup(store, to, f"{to} is there already; --force replaces it")
    assert to.read_text() == "mine"
    back_up(url_of(store), to, NOW, force=True)
    assert bodies(to) == bodies(store)
    assert names_in(to.parent) == ["copy.db"]


@pytest.mark.rules("S6")
@pytest.mark.parametrize("schema", ENDED, ids=lambda path: path.stem)
def test_a_store_of_an_earlier_version_is_copied_as_it_is_and_verified(database: Path, to: Path, schema: Path) -> None:
    make_old_store(database, schema)

    made = back_up_all(database, to)

    assert schema_in(to) == schema_in(database) == schema.stem
    assert (made.contents.sessions, made.contents.wrong, bodies(to)) == (2, 0, bodies(database))
    assert names_in(to.parent) == ["copy.db"]


def test_a_store_behind_a_link_is_the_store(store: Path, to: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(store)

    back_up_all(link, to)

    assert bodies(to) == bodies(store)
    assert SESSION in str(run_sql(to, "SELECT id FROM sessions"))
