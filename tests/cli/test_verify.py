"""S3: `turnkeeper verify` on real files to which something was done with a plain SQLite shell."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from service.adapters.log_sql import open_sql_log
from service.cli.app import app
from service.core.chain import link
from service.core.ids import SessionId
from service.ports import SessionLog
from tests.cli.stored_logs import run_sql, url_of, write_log, write_store
from tests.core.written_logs import CUT_EVERY

pytestmark = pytest.mark.rules("S3", "D2")

ONE, TWO = SessionId("ses_1"), SessionId("ses_2")
LENGTH = 9
OF_ONE = "session_key = (SELECT key FROM sessions WHERE id = 'ses_1')"
SEQS = st.integers(1, LENGTH)

Damage = str | tuple[str, Sequence[object]]


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    database = tmp_path_factory.mktemp("stores") / "untouched.db"
    write_store(database, (ONE, LENGTH), (TWO, LENGTH))
    return database


@pytest.fixture
def database(untouched: Path, tmp_path: Path) -> Path:
    """Give a store that is this test's own."""
    return Path(shutil.copy(untouched, tmp_path / "store.db"))


def verify(database: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["verify", "--database-url", url_of(database), *arguments], catch_exceptions=False)


def said(result: Result) -> list[str]:
    return [line.removeprefix("turnkeeper: ") for line in result.stderr.splitlines()]


def heads_of(database: Path) -> list[str]:
    rows = run_sql(database, "SELECT id, head_seq, lower(hex(head_hash)) FROM sessions ORDER BY id")
    return [" ".join(map(str, row)) for row in rows]


def damaged(database: Path, *damage: Damage) -> tuple[str, ...]:
    """Do damage to a copy, and give what is said of it, without the count at the end."""
    copy = Path(shutil.copy(database, database.with_name("damaged.db")))
    run_sql(copy, *damage)
    result = verify(copy)
    assert result.exit_code == 1
    assert "Traceback" not in result.stderr
    *faults, count = said(result)
    assert count.startswith("2 logs checked")
    return tuple(faults)


def test_a_store_that_is_right_has_its_heads_printed_and_nothing_else(database: Path) -> None:
    result = verify(database)

    assert result.exit_code == 0
    assert result.stdout.splitlines() == heads_of(database)
    assert said(result) == ["2 logs checked, nothing wrong in them"]


def test_only_the_sessions_that_are_named_are_checked(database: Path) -> None:
    run_sql(database, "UPDATE records SET body = 'x' WHERE pos = 12")

    result = verify(database, ONE, ONE)

    assert result.exit_code == 0
    assert result.stdout.splitlines() == heads_of(database)[:1]
    assert verify(database, TWO).exit_code == 1


def test_a_session_that_is_wrong_does_not_hide_the_others(database: Path) -> None:
    run_sql(database, f"UPDATE records SET body = CAST('x' AS BLOB) WHERE {OF_ONE} AND seq = 4")

    result = verify(database)

    assert result.exit_code == 1
    assert result.stdout.splitlines() == heads_of(database)[1:]
    assert said(result) == [
        "ses_1: seq 4: its body is not the one that was hashed (or its hash was changed) (body)",
        "2 logs checked, 1 of them wrong",
    ]


BY_SEQ: dict[str, tuple[Callable[[int], Sequence[Damage]], str]] = {
    "a body's last byte": (
        lambda seq: [f"UPDATE records SET body = CAST(substr(body, 1, length(body) - 1) AS BLOB) {at(seq)}"],
        "body",
    ),
    "a body as text": (lambda seq: [f"UPDATE records SET body = CAST(body AS TEXT) {at(seq)}"], "damage"),
    "a body that is nothing": (lambda seq: [f"UPDATE records SET body = zeroblob(0) {at(seq)}"], "body"),
    "a hash": (lambda seq: [f"UPDATE records SET hash = randomblob(32) {at(seq)}"], "body"),
    "a short hash": (lambda seq: [f"UPDATE records SET hash = x'00' {at(seq)}"], "body"),
    "the turn": (lambda seq: [f"UPDATE records SET turn = 'trn_other' {at(seq)}"], "envelope"),
    "the type": (lambda seq: [f"UPDATE records SET type = 'other' {at(seq)}"], "envelope"),
    "a type that is no text": (lambda seq: [f"UPDATE records SET type = x'ff' {at(seq)}"], "damage"),
    "text that is no UTF-8": (lambda seq: [f"UPDATE records SET type = CAST(x'ff' AS TEXT) {at(seq)}"], "envelope"),
    "the place": (lambda seq: [f"UPDATE records SET pos = -pos {at(seq)}"], "order"),
}


def at(seq: int) -> str:
    return f"WHERE {OF_ONE} AND seq = {seq}"


@pytest.mark.parametrize("name", list(BY_SEQ))
@pytest.mark.parametrize("seq", [1, 2, 5, LENGTH])
def test_what_was_changed_in_a_record_is_found_at_its_seq(database: Path, name: str, seq: int) -> None:
    damage, kind = BY_SEQ[name]

    found = damaged(database, *damage(seq))

    assert found[0].startswith(f"ses_1: seq {seq}: ")
    assert found[0].endswith(f"({kind})")
    # A full text is found by the place of its record.
    assert [line for line in found[1:] if not line.startswith("a full text of no record")] == []


@pytest.mark.parametrize("seq", range(1, LENGTH + 1))
def test_a_record_that_was_removed_is_found_where_it_stood(database: Path, seq: int) -> None:
    texts = "DELETE FROM full_results WHERE pos NOT IN (SELECT pos FROM records)"

    (found,) = damaged(database, f"DELETE FROM records {at(seq)}", texts)

    what = "the log ends at record 8" if seq == LENGTH else f"record {seq} missing before record {seq + 1}"
    assert found.startswith(f"ses_1: seq {seq}: {what}")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=SEQS, second=SEQS)
def test_records_that_changed_places_are_found_at_the_first(database: Path, first: int, second: int) -> None:
    if first == second:
        return
    swap = [
        f"UPDATE records SET seq = {-first} {at(first)}",
        f"UPDATE records SET seq = {first} {at(second)}",
        f"UPDATE records SET seq = {second} {at(-first)}",
    ]

    (found, *_) = damaged(database, *swap)

    assert found.startswith(f"ses_1: seq {min(first, second)}: ")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seq=SEQS, to=st.integers(1, LENGTH + 3))
def test_a_record_that_was_moved_to_another_session_is_found_in_both(database: Path, seq: int, to: int) -> None:
    two = "(SELECT key FROM sessions WHERE id = 'ses_2')"
    make_room = f"UPDATE records SET seq = seq + 100 WHERE session_key = {two} AND seq >= {to}"
    close_up = f"UPDATE records SET seq = seq - 99 WHERE session_key = {two} AND seq >= 100"

    found = damaged(
        database, make_room, close_up, f"UPDATE records SET session_key = {two}, seq = {to}, pos = 1000 {at(seq)}"
    )

    assert found[0].startswith(f"ses_1: seq {seq}: ")
    assert found[1].startswith(f"ses_2: seq {min(to, LENGTH + 1)}: ")


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("head_seq = 8", "seq 8: the session's head has another hash than the record it names (head)"),
        ("head_seq = 10", "seq 10: the log ends at record 9, but the session's head is 10: its tail is missing (gap)"),
        ("head_seq = 0", "seq 1: the log goes on behind the session's head, which is 0 (head)"),
        ("head_hash = zeroblob(32)", "seq 9: the session's head has another hash than the record it names (head)"),
        ("head_hash = ''", "seq 1: the session's head can't be read: it holds a value of another kind"),
        ("head_seq = 'nine'", "seq 1: the session's head can't be read: it holds a value of another kind"),
    ],
)
def test_a_head_that_was_changed_is_found(database: Path, change: str, found: str) -> None:
    (line,) = damaged(database, f"UPDATE sessions SET {change} WHERE id = 'ses_1'")

    assert line.startswith(f"ses_1: {found}")


def test_a_tail_that_was_cut_is_found(database: Path) -> None:
    (found, *_) = damaged(database, f"DELETE FROM records WHERE {OF_ONE} AND seq > 5")

    assert found.startswith("ses_1: seq 6: the log ends at record 5, but the session's head is 9")


@pytest.mark.rules("T9")
@pytest.mark.parametrize(
    "change", ["DELETE FROM full_results", "UPDATE full_results SET body = zeroblob(length(body))"]
)
def test_a_full_text_that_is_missing_or_was_changed_is_found(database: Path, change: str) -> None:
    found = damaged(database, change)

    assert [line.split(": its full text")[0] for line in found] == [f"{id_}: seq {CUT_EVERY}" for id_ in (ONE, TWO)]


@pytest.mark.rules("X3")
@pytest.mark.parametrize("change", ["DELETE FROM specs", "UPDATE specs SET body = x'5b5d'"])
def test_specs_that_are_missing_or_were_changed_are_found(database: Path, change: str) -> None:
    found = damaged(database, change)

    assert [line.split(": the tool specs")[0] for line in found] == ["ses_1: seq 1", "ses_2: seq 1"]


def test_what_belongs_to_no_session_is_found(database: Path) -> None:
    run_sql(database, "DELETE FROM sessions WHERE id = 'ses_2'", f"DELETE FROM records {at(3)}")

    result = verify(database)

    assert result.exit_code == 1
    assert said(result)[1:] == [
        "a record of no session (pos 10)",
        "a full text of no record (pos 3)",
        "1 log checked, 1 of them wrong",
    ]


def keep(database: Path, *more: str) -> Path:
    kept = database.with_name("heads.txt")
    kept.write_text(verify(database).stdout + "\n".join(more))
    return kept


def rebuild(database: Path, *changes: Damage) -> None:
    """Change what is to be changed and then hash every log anew, head and all."""
    run_sql(database, *changes)
    for key, _ in run_sql(database, "SELECT key, id FROM sessions"):
        last, updates = bytes(32), list[Damage]()
        rows = run_sql(database, ("SELECT pos, seq, body FROM records WHERE session_key = ? ORDER BY seq", [key]))
        for pos, _, body in rows:
            assert isinstance(body, bytes)
            last = link(last, body)
            updates.append(("UPDATE records SET hash = ? WHERE pos = ?", [last, pos]))
        updates.append(("UPDATE sessions SET head_seq = ?, head_hash = ? WHERE key = ?", [rows[-1][1], last, key]))
        run_sql(database, *updates)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seq=st.integers(2, LENGTH).filter(lambda seq: seq % CUT_EVERY != 0))
def test_a_log_that_was_rebuilt_as_a_whole_is_found_by_kept_heads_only(database: Path, seq: int) -> None:
    kept = keep(database)
    copy = Path(shutil.copy(database, database.with_name("rebuilt.db")))
    words = f"CAST(replace(CAST(body AS TEXT), 'message {seq}', 'another {seq}') AS BLOB)"
    rebuild(copy, f"UPDATE records SET body = {words} {at(seq)}")
    assert heads_of(copy)[0] != heads_of(database)[0]

    assert verify(copy).exit_code == 0
    result = verify(copy, "--heads", str(kept))

    assert result.exit_code == 1
    assert said(result)[0].startswith("ses_1: seq 9: it is not the record whose head was kept")
    assert result.stdout.splitlines() == heads_of(copy)[1:]


def test_a_tail_that_was_cut_with_its_head_is_found_by_kept_heads_only(database: Path) -> None:
    kept = keep(database)
    rebuild(
        database,
        f"DELETE FROM full_results WHERE pos IN (SELECT pos FROM records WHERE {OF_ONE} AND seq > 5)",
        f"DELETE FROM records WHERE {OF_ONE} AND seq > 5",
    )

    assert verify(database).exit_code == 0
    result = verify(database, "--heads", str(kept))

    assert result.exit_code == 1
    assert said(result)[0] == (
        "ses_1: seq 6: the log ends at record 5, but the head of record 9 was kept: its tail was cut (kept_head)"
    )


def test_heads_of_many_days_are_on_a_log_that_went_on(database: Path) -> None:
    (row,) = run_sql(database, f"SELECT lower(hex(hash)) FROM records {at(4)}")
    kept = keep(database, f"ses_1 4 {row[0]}", "# Tuesday")

    assert verify(database, "--heads", str(kept)).exit_code == 0
    kept = keep(database, f"ses_1 4 {'0' * 64}")
    assert said(verify(database, "--heads", str(kept)))[0].startswith("ses_1: seq 4: it is not the record whose head")


def test_a_session_that_is_gone_is_told_and_wrong_unless_that_is_allowed(database: Path) -> None:
    kept = keep(database)

    async def delete() -> None:
        async with open_sql_log(url_of(database)) as store:
            await store.delete_session(TWO)

    asyncio.run(delete())
    line = "ses_2: gone, though the head of its record 9 was kept: deleted, pruned or removed"

    for arguments, exit_code in (((), 1), (("--allow-deleted",), 0), ((ONE,), 0), ((TWO,), 1)):
        result = verify(database, "--heads", str(kept), *arguments)
        assert result.exit_code == exit_code
        assert (line in said(result)) == (ONE not in arguments)


def test_a_damaged_page_is_told_where_it_is_met(database: Path) -> None:
    (row,) = run_sql(database, "SELECT rootpage FROM sqlite_master WHERE name = 'full_results'")
    assert isinstance(row[0], int)
    with database.open("r+b") as file:
        file.seek((row[0] - 1) * 4096)
        file.write(b"\xff" * 100)

    result = verify(database)

    assert result.exit_code in (1, 2)
    assert "Traceback" not in result.stderr
    assert "malformed" in result.stderr or "damaged" in result.stderr


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("none", "there is no file "),
        ("text", "the store "),
        ("other", " is not a Turnkeeper database"),
        ("empty", " is not a Turnkeeper database"),
        ("newer", " was written by a newer version of Turnkeeper"),
        ("folder", "there is no file "),
    ],
)
def test_what_cannot_be_checked_is_said_in_one_line_and_not_made(tmp_path: Path, name: str, line: str) -> None:
    database = tmp_path / "store.db"
    if name == "text":
        database.write_text("no database " * 500)
    elif name == "other":
        run_sql(database, "CREATE TABLE recipes (name TEXT)")
    elif name == "empty":
        database.touch()
    elif name == "newer":
        write_store(database)
        run_sql(database, "UPDATE alembic_version SET version_num = '9876'")
    elif name == "folder":
        database.mkdir()
    before = list(tmp_path.iterdir())

    result = verify(database)

    (found,) = said(result)
    assert result.exit_code == 2
    assert line in found
    assert not set(tmp_path.iterdir()) - set(before) - {tmp_path / "store.db-wal", tmp_path / "store.db-shm"}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["ses_none"], "there is no session or reading ses_none"),
        (["ses_\u202e\n"], "there is no session or reading ses_\\u202e\\n"),
        (["--heads", "nowhere.txt"], "nowhere.txt can't be read: No such file or directory"),
        (["--heads", "."], ". can't be read: Is a directory"),
    ],
)
def test_arguments_that_name_nothing_are_said_in_one_line(database: Path, arguments: list[str], line: str) -> None:
    result = verify(database, *arguments)

    assert (result.exit_code, said(result)) == (2, [line])


def test_a_file_that_holds_no_heads_is_said_with_its_line(database: Path) -> None:
    heads = database.with_name("heads.txt")
    heads.write_text("ses_1 9 of course\n")

    result = verify(database, "--heads", str(heads))

    assert result.exit_code == 2
    assert said(result)[0].startswith(f"{heads} can't be read: line 1 is no head")


def test_a_store_in_memory_cannot_be_checked() -> None:
    result = CliRunner().invoke(app, ["verify", "--database-url", "memory:"])

    assert result.exit_code == 2
    assert said(result) == ["memory: keeps nothing on disk; name a store with sqlite:///FILE"]


@pytest.mark.anyio
@pytest.mark.rules("S2")
async def test_a_store_is_checked_while_the_service_writes_to_it(tmp_path: Path) -> None:
    database = tmp_path / "store.db"
    async with open_sql_log(url_of(database)) as store:
        await write_log(store, ONE, LENGTH)
        writing = asyncio.create_task(write_on(store, 40))
        results = [await asyncio.to_thread(verify, database) for _ in range(5)]
        await writing
        last = await asyncio.to_thread(verify, database)

    assert [result.exit_code for result in results] == [0] * 5
    assert len(last.stdout.splitlines()) == 41
    # What the check left is in nobody's way.
    async with open_sql_log(url_of(database)) as store:
        await write_log(store, SessionId("ses_0"), 1)


async def write_on(store: SessionLog, sessions: int) -> None:
    for number in range(sessions):
        await write_log(store, SessionId(f"ses_1{number:02}"), LENGTH)


def test_nothing_is_written_by_a_check(database: Path) -> None:
    before = database.read_bytes()

    verify(database)

    assert database.read_bytes() == before
