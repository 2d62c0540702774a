"""D2: a backup takes the store's place only as a whole and when it is good, and what was there is not lost."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from service.adapters.log_sql import open_sql_log
from service.adapters.log_sql.migrate import newest_schema
from service.core.errors import StoreFailure, StoreLocked
from service.core.ids import LOCAL_OWNER
from tests.adapters.log_contract.sessions_made import append
from tests.adapters.log_sql.copied_stores import (
    NOW,
    bodies,
    change,
    damage,
    make_old_store,
    make_store,
    names_in,
    schema_in,
)
from tests.adapters.log_sql.old_databases import ENDED
from tests.adapters.log_sql.restored_stores import (
    NEW,
    OLD,
    contents_of,
    make_backup,
    make_killed_store,
    opens,
    restore_it,
    sessions_in,
)
from tests.adapters.log_sql.small_disk import small_disk
from tests.cli.stored_logs import run_sql, url_of

pytestmark = pytest.mark.rules("D2")


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return make_backup(tmp_path)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "store.db"


@pytest.fixture
def store(database: Path) -> Path:
    """Give a store that a killed service left, with something in the write-ahead log alone."""
    make_killed_store(database)
    return database


@pytest.mark.rules("S2", "S3")
def test_where_there_is_no_store_the_backup_is_the_store(backup: Path, database: Path) -> None:
    kept = backup.read_bytes()

    done = restore_it(backup, database)

    assert (done.path, done.set_aside, done.contents.sessions) == (database, None, 1)
    assert bodies(database) == bodies(backup)
    assert backup.read_bytes() == kept
    assert sorted(contents_of(database.parent)) == ["store.db"]
    asyncio.run(opens(database))
    assert sessions_in(database) == [OLD]


@pytest.mark.skipif(sys.platform == "win32", reason="files have no POSIX rights on Windows")
def test_it_is_for_its_owners_eyes_whatever_the_backup_was(backup: Path, database: Path) -> None:
    backup.chmod(0o644)
    restore_it(backup, database)

    assert oct(stat.S_IMODE(database.stat().st_mode)) == "0o600"


def test_a_store_that_is_there_stays_unless_it_may_be_replaced(backup: Path, store: Path) -> None:
    before = contents_of(store.parent)

    assert_refused(backup, store, f"{store} is there already; --replace sets it aside", replace=False)

    assert contents_of(store.parent) == before


@pytest.mark.rules("S2", "S3")
def test_what_was_there_is_set_aside_with_its_write_ahead_log_which_is_not_played_into_the_backup(
    backup: Path, store: Path
) -> None:
    before = contents_of(store.parent)

    done = restore_it(backup, store, replace=True)

    aside = store.with_name("store.db.replaced-20300102T030405Z")
    assert done.set_aside == aside
    assert bodies(store) == bodies(backup)
    assert sessions_in(store) == [OLD]
    after = contents_of(store.parent)
    assert {name: after[name.replace("store.db", aside.name)] for name in before} == before
    assert run_sql(aside, "SELECT id, title FROM sessions") == [(NEW, "in the log alone")]
    asyncio.run(opens(store))
    assert sessions_in(store) == [OLD]


def test_a_write_ahead_log_without_its_database_is_set_aside_too(backup: Path, store: Path) -> None:
    store.unlink()
    assert_refused(backup, store, "store.db-wal is there already; --replace sets it aside", replace=False)

    done = restore_it(backup, store, replace=True)

    assert done.set_aside is not None
    assert done.set_aside.with_name(f"{done.set_aside.name}-wal").stat().st_size > 0
    assert bodies(store) == bodies(backup)


@pytest.mark.anyio
@pytest.mark.rules("H6")
async def test_no_reader_s_cursor_leads_to_other_records_than_it_stood_behind(backup: Path, database: Path) -> None:
    kept = (await asyncio.to_thread(restore_it, backup, database)).contents.last_pos
    async with open_sql_log(url_of(database)) as log:
        (row,) = await log.sessions(owner=LOCAL_OWNER, limit=2)
        (first,) = await append(log, row.id, row.head.seq)
        cursors = [await log.cursor(pos) for pos in (kept, kept + 1, kept + 1_000, first.pos - 1, first.pos)]

    assert first.pos > kept + 1_000
    assert [cursor.is_lost for cursor in cursors] == [False, True, True, True, False]
    assert {cursor.last_pos for cursor in cursors} == {first.pos}


def test_of_two_stores_that_are_replaced_in_one_second_both_are_kept(backup: Path, store: Path) -> None:
    first = restore_it(backup, store, replace=True).set_aside
    second = restore_it(backup, store, replace=True).set_aside

    assert first is not None
    assert second is not None
    assert second == store.with_name(f"store.db.replaced-{NOW + timedelta(seconds=1):%Y%m%dT%H%M%SZ}")
    assert (sessions_in(first), sessions_in(second), sessions_in(store)) == ([NEW], [OLD], [OLD])


def assert_refused(
    backup: Path, store: Path, message: str, *, kind: type[StoreFailure] = StoreFailure, replace: bool = True
) -> None:
    """Expect one line, and that nothing of the store was touched."""
    before = contents_of(store.parent) if store.parent.exists() else {}
    with pytest.raises(kind) as refusal:
        restore_it(backup, store, replace=replace)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert contents_of(store.parent) == before


@pytest.mark.anyio
@pytest.mark.rules("S2")
async def test_a_store_that_a_service_has_open_is_refused_under_each_of_its_names(
    backup: Path, store: Path, tmp_path: Path
) -> None:
    link, folder = tmp_path / "link.db", tmp_path / "folder"
    link.symlink_to(store)
    folder.symlink_to(store.parent)
    names = [store, link, folder / "store.db"]

    for opened in names:
        async with open_sql_log(url_of(opened)):
            for name in names:
                await asyncio.to_thread(assert_locked, backup, name)
                with pytest.raises(StoreLocked):
                    await opens(name)


def assert_locked(backup: Path, store: Path) -> None:
    with pytest.raises(StoreLocked, match="is in use by another process"):
        restore_it(backup, store, replace=True)


def test_a_link_to_the_store_stays_a_link(backup: Path, store: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(store)
    beside_link = names_in(tmp_path)

    done = restore_it(backup, link, replace=True)

    assert (done.path, link.readlink()) == (store, store)
    assert bodies(store) == bodies(backup)
    assert names_in(tmp_path) == beside_link
    assert_refused(link, store, f"{store} is the store itself")


def test_what_is_no_backup_is_refused(store: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.db"
    assert_refused(bad, store, f"there is no file {bad}")
    bad.touch()
    assert_refused(bad, store, "is not a Turnkeeper database")
    bad.write_text("no database at all, but long enough to be one " * 50)
    assert_refused(bad, store, "is damaged, or no database: file is not a database")
    bad.unlink()
    run_sql(bad, "CREATE TABLE recipes (name TEXT)")
    assert_refused(bad, store, f"{bad} is not a Turnkeeper database")
    assert_refused(tmp_path, store, f"there is no file {tmp_path}")


@pytest.mark.rules("S6")
def test_a_backup_of_a_newer_version_is_refused(backup: Path, store: Path) -> None:
    change(backup, "UPDATE alembic_version SET version_num = '9876'")

    assert_refused(backup, store, "was written by a newer version of Turnkeeper (schema 9876;")


@pytest.mark.rules("S3")
def test_a_damaged_backup_is_refused(backup: Path, store: Path) -> None:
    whole = backup.read_bytes()
    for size in (*range(4096 + 512, len(whole), len(whole) // 9 // 512 * 512), len(whole) - 512, len(whole) - 1):
        backup.write_bytes(whole[:size])
        assert_refused(backup, store, f"{backup} is damaged")
    backup.write_bytes(whole)
    damage(backup)
    assert_refused(backup, store, f"{backup} is damaged")


@pytest.mark.rules("S3")
def test_a_backup_with_a_wrong_log_is_restored_only_unverified(backup: Path, store: Path) -> None:
    change(backup, "UPDATE records SET body = replace(body, 'message 2 ', 'message 9 ') WHERE seq = 2")

    assert_refused(backup, store, f"something is wrong in the logs of {backup}")
    assert restore_it(backup, store, replace=True, verify=False).contents.heads_sha256 is None
    assert bodies(store) == bodies(backup)


@pytest.mark.rules("S6")
@pytest.mark.parametrize("schema", ENDED, ids=lambda path: path.stem)
def test_a_backup_of_an_earlier_version_is_brought_up_to_date(tmp_path: Path, store: Path, schema: Path) -> None:
    old = tmp_path / "old.db"
    make_old_store(old, schema)

    restore_it(old, store, replace=True)

    assert (schema_in(old), schema_in(store)) == (schema.stem, newest_schema())
    assert len(sessions_in(store)) == 2
    assert bodies(store) == bodies(old)


@pytest.mark.rules("S6")
def test_a_backup_that_can_t_be_brought_up_to_date_does_not_replace_the_store(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise sqlite3.OperationalError("no such thing")

    old = tmp_path / "old.db"
    make_old_store(old, ENDED[-1])
    monkeypatch.setattr("service.adapters.log_sql.sqlite_copy.migrate", broken)

    assert_refused(old, store, "no such thing")


def test_a_copy_of_the_files_of_a_killed_service_is_a_backup(store: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "store.db"

    restore_it(store, other)

    assert run_sql(other, "SELECT id, title FROM sessions") == [(NEW, "in the log alone")]


@pytest.mark.rules("S5")
def test_a_disk_that_fills_up_leaves_the_store(backup: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        make_store(disk.folder / "store.db", NEW, records=4)
        disk.fill(leave_bytes=40_960)
        assert_refused(backup, disk.folder / "store.db", f"{disk.folder} has no room for the copy: it takes ")
        assert sessions_in(disk.folder / "store.db") == [NEW]
