"""S2, S6: one process at a time, and a clear line for each thing that can't be opened."""

import asyncio
import sqlite3
import stat
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event

from service.adapters.log_sql import open_sql_log
from service.core.errors import StoreFailure, StoreLocked
from tests.adapters.log_contract.sessions_made import append, make
from tests.adapters.log_sql.conftest import Look

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S2")]

OPEN_ELSEWHERE = """
import asyncio, sys
from service.adapters.log_sql import open_sql_log
from service.core.errors import StoreLocked

async def main():
    try:
        async with open_sql_log(sys.argv[1]):
            print("opened")
    except StoreLocked as refusal:
        print(refusal)

asyncio.run(main())
"""


async def test_a_second_open_in_the_same_process_is_refused(url: str, database: Path) -> None:
    async with open_sql_log(url) as log:
        with pytest.raises(StoreLocked) as refusal:
            async with open_sql_log(url):
                pass
        session = await make(log)
        await append(log, session, 1)

    assert str(database) in str(refusal.value)
    assert "\n" not in str(refusal.value)


async def test_a_second_process_is_refused_and_told_which_file(url: str, database: Path) -> None:
    async with open_sql_log(url):
        assert await opened_elsewhere(url) == (
            f"{database} is in use by another process (it holds the lock {database}.lock)"
        )
    assert await opened_elsewhere(url) == "opened"


async def opened_elsewhere(url: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", OPEN_ELSEWHERE, url),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    return output.decode().strip()


async def test_a_store_that_was_closed_can_be_opened_again(url: str) -> None:
    for _ in range(3):
        async with open_sql_log(url) as log:
            await make(log)
    async with open_sql_log(url) as log:
        assert len(await log.sessions(owner=None, limit=9)) == 3


async def test_a_lock_file_left_behind_does_not_matter(url: str, database: Path) -> None:
    database.with_name("store.db.lock").write_text("left by a crash")

    async with open_sql_log(url) as log:
        await log.check()


async def test_a_block_that_raises_still_closes_the_store(url: str) -> None:
    with pytest.raises(KeyError):
        async with open_sql_log(url):
            raise KeyError

    async with open_sql_log(url) as log:
        await log.check()


async def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    async with open_sql_log(f"sqlite:///{tmp_path / 'not' / 'there' / 'store.db'}"):
        assert (tmp_path / "not" / "there" / "store.db").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="files have no POSIX rights on Windows")
async def test_the_file_is_for_its_owners_eyes(url: str, database: Path) -> None:
    async with open_sql_log(url) as log:
        await make(log)
        rights = {path.name: stat.S_IMODE(path.stat().st_mode) for path in database.parent.iterdir()}

    assert {name: oct(mode) for name, mode in rights.items() if "lock" not in name} == {
        "store.db": "0o600",
        "store.db-wal": "0o600",
        "store.db-shm": "0o600",
    }


async def test_the_writer_waits_for_the_disk_and_keeps_references_whole(url: str) -> None:
    settings: list[object] = []

    def note(connection: Connection) -> None:
        cursor = connection.connection.cursor()
        for name in ("journal_mode", "synchronous", "foreign_keys"):
            cursor.execute(f"PRAGMA {name}")
            settings.append(cursor.fetchone())

    async with open_sql_log(url) as log:
        event.listen(Engine, "begin", note)
        await make(log)
        event.remove(Engine, "begin", note)

    assert settings == [("wal",), (2,), (1,)]  # 2 is FULL


async def test_after_a_close_one_file_holds_everything(url: str, database: Path) -> None:
    async with open_sql_log(url) as log:
        await make(log)

    assert sorted(path.name for path in database.parent.iterdir()) == ["store.db", "store.db.lock"]


async def test_a_file_that_is_no_database_is_refused(url: str, a_text: Path) -> None:
    await assert_refused(url, "not a database")
    await assert_refused(url, str(a_text))


@pytest.fixture
def a_text(database: Path) -> Generator[Path]:
    """Put a text in the database's place, which stays as it is."""
    text = "no database at all, but long enough to be one " * 50
    database.write_text(text)
    yield database
    assert database.read_text() == text


async def test_a_database_of_another_program_is_refused(url: str, database: Path, look: Look) -> None:
    look("CREATE TABLE recipes (name TEXT)")

    await assert_refused(url, f"{database} is not a Turnkeeper database")
    assert look("SELECT name FROM sqlite_master") == [("recipes",)]


@pytest.mark.rules("S6")
async def test_a_database_of_a_newer_version_is_refused(url: str, database: Path, look: Look) -> None:
    async with open_sql_log(url):
        pass
    look("UPDATE alembic_version SET version_num = '9876'")

    await assert_refused(url, f"{database} was written by a newer version of Turnkeeper (schema 9876;")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("no url", "parse"),
        ("postgresql://localhost/x", "no store for postgresql databases"),
    ],
)
async def test_an_address_without_a_file_is_refused(url: str, message: str) -> None:
    await assert_refused(url, message)


async def test_a_folder_in_the_files_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.db").mkdir()

    await assert_refused(f"sqlite:///{tmp_path / 'store.db'}", "store.db")


async def test_a_file_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("")

    await assert_refused(f"sqlite:///{tmp_path / 'folder' / 'store.db'}", "folder")


async def assert_refused(url: str, message: str) -> None:
    """Expect one clear line, also at the second try: a refused opening leaves no lock."""
    for _ in range(2):
        with pytest.raises(StoreFailure) as refusal:
            async with open_sql_log(url):
                pass
        assert message in str(refusal.value)
        assert "\n" not in str(refusal.value)
        assert not isinstance(refusal.value, StoreLocked)


async def test_an_unfinished_migration_leaves_nothing(
    url: str, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patched:
        patched.setattr("alembic.operations.Operations.bulk_insert", broken)
        await assert_refused(url, "disk I/O error")

    connection = sqlite3.connect(database)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
    connection.close()
    async with open_sql_log(url) as log:
        await make(log)


@pytest.mark.parametrize(("place", "said"), [("f/s.db", "f can't be a folder"), ("f/g/s.db", "g can't be a folder")])
async def test_a_file_in_the_place_of_a_folder_is_told(tmp_path: Path, place: str, said: str) -> None:
    (tmp_path / "f").write_text("x")
    with pytest.raises(StoreFailure, match=said):
        async with open_sql_log(f"sqlite:///{tmp_path / place}"):
            pass


async def test_a_folder_in_the_place_of_the_store_is_told(tmp_path: Path) -> None:
    (tmp_path / "s.db").mkdir()
    with pytest.raises(StoreFailure, match=r"s\.db is a folder; name a file in it"):
        async with open_sql_log(f"sqlite:///{tmp_path / 's.db'}"):
            pass
