"""D2: what is no backup, or would cost something else, is not made, and nothing of it is left."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from service.adapters.log_sql.backup import back_up
from service.core.errors import StoreAbsent, StoreFailure
from tests.adapters.log_sql.copied_stores import (
    NOW,
    assert_no_backup,
    back_up_all,
    bodies,
    change,
    damage,
    make_store,
    names_in,
)
from tests.adapters.log_sql.small_disk import small_disk
from tests.cli.stored_logs import url_of

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


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal", ".lock"])
def test_no_force_replaces_a_file_of_the_store_itself(store: Path, suffix: str, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    before = store.read_bytes()

    assert_no_backup(store, link / f"store.db{suffix}", "belongs to the store itself", force=True)
    assert store.read_bytes() == before


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_a_name_beside_which_another_databases_log_lies_is_refused(store: Path, to: Path, suffix: str) -> None:
    to.with_name(f"copy.db{suffix}").write_bytes(b"x")

    assert_no_backup(store, to, f"copy.db{suffix} belongs to another database", force=True)


def test_a_place_that_is_none_is_refused(store: Path, to: Path) -> None:
    assert_no_backup(store, to.parent / "none" / "copy.db", f"there is no folder {to.parent / 'none'}")
    assert_no_backup(store, Path("/dev/null"), "/dev/null is there and is no file", force=True)


def test_a_store_that_is_not_there_or_not_ours_is_refused(tmp_path: Path, to: Path) -> None:
    with pytest.raises(StoreAbsent, match=r"there is no file .*none\.db"):
        back_up_all(tmp_path / "none.db", to)
    (tmp_path / "empty.db").touch()
    assert_no_backup(tmp_path / "empty.db", to, "is not a Turnkeeper database")
    (tmp_path / "text.db").write_text("no database at all, but long enough to be one " * 50)
    assert_no_backup(tmp_path / "text.db", to, "text.db is damaged, or no database: file is not a database")
    assert names_in(to.parent) == []


def test_a_damaged_store_leaves_no_backup_and_the_last_good_one(store: Path, to: Path) -> None:
    good = back_up_all(store, to).path.read_bytes()
    damage(store)

    assert_no_backup(store, to, f"{store} is damaged", force=True)
    assert names_in(to.parent) == ["copy.db"]
    assert to.read_bytes() == good


def test_a_store_that_lost_its_last_byte_leaves_no_backup(store: Path, to: Path) -> None:
    os.truncate(store, store.stat().st_size - 1)

    assert_no_backup(store, to, f"{store} is damaged: its last page is cut")
    assert names_in(to.parent) == []


def test_an_index_that_lacks_a_row_is_found(store: Path, to: Path) -> None:
    broken = "UPDATE sqlite_master SET sql = sql || ' WHERE seq > 3' WHERE name = 'ix_records_session_key_pos'"
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(broken)

    assert_no_backup(store, to, f"{store} is damaged")
    assert names_in(to.parent) == []


@pytest.mark.rules("S3")
def test_logs_that_are_wrong_are_counted_and_don_t_replace_a_backup(store: Path, to: Path) -> None:
    good = back_up_all(store, to).path.read_bytes()
    change(store, "UPDATE records SET body = replace(body, 'message 2 ', 'message 9 ') WHERE seq = 2")

    assert_no_backup(store, to, f"{to} was not replaced: something is wrong in the logs of {store}", force=True)
    assert to.read_bytes() == good
    made = back_up_all(store, to.with_name("other.db"))
    assert (made.contents.wrong, bodies(made.path)) == (1, bodies(store))
    unverified = back_up(url_of(store), to, NOW, force=True, verify=False)
    assert (unverified.contents.wrong, unverified.contents.sessions, unverified.contents.heads_sha256) == (0, 1, None)


def test_a_backup_that_is_interrupted_anywhere_leaves_nothing(store: Path, to: Path) -> None:
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    back_up_all(store, to, count)
    to.unlink()
    assert steps > 3

    for last in range(steps):
        left = last

        def interrupt() -> None:
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1

        with pytest.raises(KeyboardInterrupt):
            back_up_all(store, to, interrupt)
        assert names_in(to.parent) == []


@pytest.mark.rules("S5")
def test_a_disk_without_room_is_told_with_the_bytes_that_it_takes(store: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        disk.fill(leave_bytes=40_960)
        needed = store.stat().st_size
        message = f"{disk.folder} has no room for the copy: it takes {needed} bytes, and 40960 are free"
        assert_no_backup(store, disk.folder, message)
        assert names_in(disk.folder) == ["ballast"]


@pytest.mark.rules("S5")
def test_a_disk_that_fills_up_meanwhile_leaves_nothing(store: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        fills = iter([disk.fill])
        with pytest.raises(StoreFailure) as failure:
            back_up_all(store, disk.folder, lambda: next(fills, int)())
        assert "can't take a copy" in str(failure.value)
        assert "full" in str(failure.value)
        assert names_in(disk.folder) == ["ballast"]


@pytest.mark.rules("S6")
def test_a_store_of_a_newer_version_is_refused(store: Path, to: Path) -> None:
    change(store, "UPDATE alembic_version SET version_num = '9876'")

    assert_no_backup(store, to, "was written by a newer version of Turnkeeper (schema 9876;")
