"""What `turnkeeper doctor` sees of a store: none yet, one in use, a wrong one, and the room on its disk."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from service.adapters.log_sql import looking, open_sql_log
from service.adapters.log_sql.looking import is_locked, look_at_file
from service.adapters.system import disk_space, open_files_allowed
from service.core.diagnosis.findings import Code, Finding
from service.core.diagnosis.store import GIB, StoreFacts, StoreState, store_findings
from service.core.ids import SessionId
from tests.cli.examined_parts import NOWHERE, codes, examine_with, said
from tests.cli.stored_logs import run_sql, url_of, write_store

pytestmark = pytest.mark.rules("D2")

SESSION = SessionId("ses_1")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A store with a session of three records."""
    write_store(tmp_path / "store.db", (SESSION, 3))
    return tmp_path / "store.db"


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[Path]:
    """A folder that may not be written; root may all the same."""
    if sys.platform == "win32" or os.geteuid() == 0:
        pytest.skip("this user may write everywhere")
    folder = tmp_path / "sealed"
    folder.mkdir(mode=0o500)
    yield folder
    folder.chmod(0o700)


def large_store(folder: Path) -> Path:
    """Write a store of many pages."""
    write_store(folder / "store.db", *((SessionId(f"ses_{number}"), 20) for number in range(30)))
    return folder / "store.db"


def seen(file: Path) -> tuple[StoreFacts, set[Code]]:
    facts = look_at_file(url_of(file))
    return facts, codes(list(store_findings(facts)))


def test_a_store_that_is_as_it_should_be_is_told_with_its_size(database: Path) -> None:
    facts, found = seen(database)

    assert found == {Code.STORE_OK}
    assert facts.store_bytes >= database.stat().st_size > 0
    assert facts.checked


def test_a_look_changes_nothing_and_makes_nothing(tmp_path: Path, database: Path) -> None:
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if not path.name.endswith("-shm")}

    seen(database)
    seen(tmp_path / "new" / "none.db")

    after = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name in before}
    assert after == before
    assert not (tmp_path / "new").exists()


@pytest.mark.rules("S6")
def test_a_store_that_is_not_there_or_empty_is_made_by_the_first_start(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()

    assert seen(tmp_path / "none.db")[1] == {Code.STORE_ABSENT}
    assert seen(tmp_path / "empty.db")[1] == {Code.STORE_ABSENT}


@pytest.mark.rules("S6")
@pytest.mark.parametrize(("version", "code"), [("9999", Code.STORE_NEWER), ("0003", Code.STORE_OLDER)])
def test_a_store_of_another_version_is_told(database: Path, version: str, code: Code) -> None:
    run_sql(database, ("UPDATE alembic_version SET version_num = ?", (version,)))

    facts, found = seen(database)

    assert found == {code}
    assert f"schema {version}" in facts.said


def test_a_database_of_another_program_is_no_store(tmp_path: Path) -> None:
    run_sql(tmp_path / "other.db", "CREATE TABLE recipes (name TEXT)")

    facts, found = seen(tmp_path / "other.db")

    assert found == {Code.STORE_UNREADABLE}
    assert "is not a Turnkeeper database" in facts.said


def test_a_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, but it is long enough to be looked at" * 20)

    assert seen(tmp_path / "text.db")[1] == {Code.STORE_DAMAGED}


def test_a_page_that_was_overwritten_is_found(tmp_path: Path) -> None:
    with large_store(tmp_path).open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        for page in range(8, size // 4096, 3):
            file.seek(page * 4096)
            file.write(b"\xff" * 4096)

    assert seen(tmp_path / "store.db")[1] == {Code.STORE_DAMAGED}


def test_a_last_page_that_is_cut_is_found(tmp_path: Path) -> None:
    database = large_store(tmp_path)
    with database.open("r+b") as file:
        file.truncate(database.stat().st_size - 100)

    facts, found = seen(database)

    assert found == {Code.STORE_DAMAGED}
    assert "its last page is cut" in facts.said


def test_a_check_that_would_take_too_long_is_ended_and_said_to_be(tmp_path: Path) -> None:
    facts = look_at_file(url_of(large_store(tmp_path)), check_s=0)

    (finding,) = store_findings(facts)
    assert (finding.code, facts.checked) == (Code.STORE_OK, False)
    assert "too large to be checked whole here" in finding.says


def test_an_address_of_no_file_is_told(tmp_path: Path) -> None:
    assert look_at_file("postgresql://host/name").state is StoreState.UNREADABLE
    assert look_at_file("sqlite://").state is StoreState.UNREADABLE


def test_a_folder_that_may_not_be_written_is_told_before_the_start_fails(sealed: Path) -> None:
    facts, found = seen(sealed / "below" / "store.db")

    assert Code.STORE_NOT_WRITABLE in found
    assert facts.read_only == f"the folder {sealed}"


def test_what_may_be_written_is_asked_of_the_system(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def may(path: Path, mode: int, **_: bool) -> bool:
        return path != database

    monkeypatch.setattr(looking.os, "access", may)

    facts, found = seen(database)

    assert facts.read_only == str(database)
    assert Code.STORE_NOT_WRITABLE in found


@pytest.mark.anyio
@pytest.mark.rules("S2")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells who holds a lock")
async def test_a_store_that_a_service_has_open_is_said_to_be_in_use(tmp_path: Path) -> None:
    async with open_sql_log(url_of(tmp_path / "store.db")):
        found = await examine_with(tmp_path, llama_url=NOWHERE)
    closed = await examine_with(tmp_path, llama_url=NOWHERE)

    assert {Code.STORE_OK, Code.STORE_IN_USE} <= codes(found)
    assert Code.STORE_IN_USE not in codes(closed)


def test_where_the_system_does_not_tell_of_locks_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()

    assert is_locked(tmp_path / "lock", locks=tmp_path / "none") is None
    assert is_locked(tmp_path / "other") is False


class Usage(NamedTuple):
    """What the system says of a disk, in bytes."""

    total: int
    used: int
    free: int


@pytest.mark.anyio
async def test_a_disk_that_is_nearly_full_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def usage(_: Path) -> Usage:
        return Usage(total=100 * GIB, used=99 * GIB, free=GIB)

    monkeypatch.setattr(shutil, "disk_usage", usage)

    found = await examine_with(tmp_path, llama_url=NOWHERE)

    assert said(Code.DISK_NEARLY_FULL, found).startswith("The disk of the store has 1.0 GiB left of 100.0 GiB.")


def test_the_room_of_a_folder_that_is_yet_to_be_made_is_that_of_its_disk(tmp_path: Path) -> None:
    space = disk_space(str(tmp_path / "a" / "b" / "store.db"))

    assert space is not None
    assert 0 < space[0] <= space[1]


@pytest.mark.anyio
async def test_a_store_in_memory_is_a_warning(tmp_path: Path) -> None:
    found = await examine_with(tmp_path, llama_url=NOWHERE, database_url="memory:")

    assert Code.STORE_KEEPS_NOTHING in codes(found)


@pytest.mark.anyio
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such bound")
async def test_a_bound_of_open_files_that_is_too_low_is_told(tmp_path: Path) -> None:
    allowed = open_files_allowed()
    many = 1_000_000

    found: list[Finding] = await examine_with(tmp_path, llama_url=NOWHERE, max_connections=many)

    assert (Code.OPEN_FILES_FEW in codes(found)) is (allowed is not None and allowed - 256 < many)
