"""D2: a restore that is cut off anywhere leaves the old store or the new one, whole."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest

from service.adapters.log_sql import sqlite_swap
from service.core.errors import StoreFailure
from service.core.ids import SessionId
from tests.adapters.log_sql.restored_stores import (
    NEW,
    OLD,
    WHOLE_OLD,
    kept_beside,
    make_backup,
    make_killed_store,
    opens,
    restore_it,
    sessions_in,
)
from tests.cli.stored_logs import run_sql

pytestmark = pytest.mark.rules("D2")

PATIENCE_S = 300


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


def cut_off(how: str, store: Path, backup: Path, tmp_path: Path) -> list[Path]:
    """Restore in other processes that are cut off one operation later each time; give the stores that they left."""
    given, made = tmp_path / "given", tmp_path / "made"
    made.mkdir()
    shutil.copytree(store.parent, given / "old")
    shutil.copy(backup, given / "backup.db")
    program = f"{sys.executable} -m tests.adapters.log_sql.restoring_child {given} {made} {how}"

    async def run() -> bytes:
        process = await asyncio.create_subprocess_exec(
            *program.split(), stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[3]
        )
        async with asyncio.timeout(PATIENCE_S):
            told, _ = await process.communicate()
        assert process.returncode == 0
        return told

    lines = asyncio.run(run()).decode().splitlines()
    words = [line.split()[1] for line in lines]
    assert words.index("whole") == len(words) - 1 > 20
    assert words.count("cut") > 15
    return [made / line.split()[0] / "store.db" for line in lines]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.rules("S3", "S4")
def test_a_restore_that_is_killed_before_any_of_its_operations_leaves_the_old_store_or_the_new_one(
    backup: Path, store: Path, tmp_path: Path
) -> None:
    ends: list[SessionId] = []
    for left in cut_off("kill", store, backup, tmp_path):
        asyncio.run(opens(left))
        (session,) = sessions_in(left)
        ends.append(session)
        if session == OLD:
            assert kept_beside(left) == [WHOLE_OLD]
        else:
            assert run_sql(left, "SELECT id, title FROM sessions") == WHOLE_OLD
            assert kept_beside(left) == []
        assert restore_it(backup, left, replace=True).contents.wrong == 0
        assert sorted(path.name for path in left.parent.glob(".*")) == []

    # Once the new one is the store, it stays so.
    decided = ends.index(OLD)
    assert ends == [NEW] * decided + [OLD] * (len(ends) - decided)
    # And that is before the first file is moved.
    assert len(ends) - decided > 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.rules("S3", "S5")
def test_a_restore_whose_disk_fails_at_any_operation_says_so_and_leaves_the_old_store_or_the_new_one(
    backup: Path, store: Path, tmp_path: Path
) -> None:
    ends: list[SessionId] = []
    for left in cut_off("fail", store, backup, tmp_path):
        asyncio.run(opens(left))
        ends += sessions_in(left)

    decided = ends.index(OLD)
    assert ends == [NEW] * decided + [OLD] * (len(ends) - decided)


def test_a_store_whose_replacement_was_cut_off_is_not_looked_at_and_the_next_opening_brings_it_to_its_end(
    backup: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(store: Path) -> None:
        if sqlite_swap.decided(store):
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sqlite_swap, "finish", cut)
        with pytest.raises(KeyboardInterrupt):
            restore_it(backup, store, replace=True)

    with pytest.raises(StoreFailure, match="the next start of the service, or of turnkeeper restore"):
        sessions_in(store)
    asyncio.run(opens(store))
    assert sessions_in(store) == [OLD]
    assert kept_beside(store) == [WHOLE_OLD]


def test_what_a_killed_restore_left_is_removed_by_the_next_one(backup: Path, store: Path) -> None:
    left = [store.with_name(f".store.db.abc.restoring{suffix}") for suffix in ("", "-journal")]
    for path in left:
        path.write_text("half")

    restore_it(backup, store, replace=True)

    assert [path for path in left if path.exists()] == []
