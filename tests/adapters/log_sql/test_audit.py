"""S3: a store is looked at as it was at one moment, in bounded memory, and nothing of it is changed."""

from __future__ import annotations

import asyncio
import sqlite3
import tracemalloc
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event

from service.adapters.log_sql import open_sql_log
from service.adapters.log_sql.audit import open_audit
from service.core.chain import Head, link
from service.core.errors import StoreFailure
from service.core.ids import SessionId
from service.core.verification import Verdict
from service.ports import RecordDraft
from tests.adapters.log_contract.sessions_made import IDLE, LATER, append, make, new_session
from tests.core.written_logs import SESSION, written

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S3")]

BODY_BYTES = 100_000


@pytest.fixture
def stored(url: str, database: Path) -> Path:
    """Give a store with one log of one record."""

    async def write() -> None:
        async with open_sql_log(url) as log:
            await make(log, new_session(SESSION), created=body_of(1))

    asyncio.run(write())
    return database


class Intruder:
    """Appends a record as the service would, as soon as the head of the session has been read."""

    def __init__(self, database: Path) -> None:
        self.database = database
        self.appended = 0

    def after(self, _connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if "head_seq" not in statement or self.appended:
            return
        self.appended += 1
        with closing(sqlite3.connect(self.database)) as connection, connection:
            key, last_pos, last_hash = connection.execute("SELECT session_key, pos, hash FROM records").fetchone()
            record = written(2).records[1]
            hash_ = link(last_hash, record.body)
            row = (last_pos + 1, key, 2, record.turn, record.type, record.body, hash_)
            connection.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            connection.execute("UPDATE sessions SET head_seq = 2, head_hash = ?", [hash_])


@pytest.fixture
def intruder(stored: Path) -> Generator[Intruder]:
    listener = Intruder(stored)
    event.listen(Engine, "after_cursor_execute", listener.after)
    yield listener
    event.remove(Engine, "after_cursor_execute", listener.after)


def test_what_is_appended_while_a_log_is_read_is_not_seen_by_half(url: str, intruder: Intruder) -> None:
    with open_audit(url) as audit:
        before, after = audit.verify(SESSION), audit.verify(SESSION)

    assert intruder.appended == 1
    assert before is not None
    assert after is not None
    assert (before.fault, before.head.seq) == (None, 1)
    assert (after.fault, after.head.seq) == (None, 2)


async def test_a_long_log_takes_the_memory_of_a_few_records(url: str) -> None:
    await write_long_log(url, 300)

    tracemalloc.start()
    try:
        verdict = await asyncio.to_thread(verify, url)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert verdict is not None
    assert (verdict.fault, verdict.head.seq) == (None, 301)
    assert peak < 60 * BODY_BYTES


async def write_long_log(url: str, length: int) -> None:
    """Write a log of many long records, some at a time."""
    bodies = [body_of(seq) for seq in range(1, length + 2)]
    async with open_sql_log(url) as log:
        await make(log, new_session(SESSION), created=bodies[0])
        for start in range(1, length + 1, 50):
            drafts = [RecordDraft(turn=None, type="user", body=body) for body in bodies[start : start + 50]]
            await log.append(SESSION, start, drafts, IDLE, LATER)


def body_of(seq: int) -> bytes:
    record_type = "session_created" if seq == 1 else "user"
    text = b'{"content":"%s","seq":%d,"session":"%s","turn":null,"type":"%s"}'
    return text % (b"x" * BODY_BYTES, seq, SESSION.encode(), record_type.encode())


def verify(url: str) -> Verdict | None:
    with open_audit(url) as audit:
        return audit.verify(SESSION)


def test_sessions_are_listed_page_by_page_to_the_last(url: str, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.adapters.log_sql.audit._PAGE", 2)
    with closing(sqlite3.connect(stored)) as connection, connection:
        columns = "id, owner, title, metadata, created_at, updated_at, state, status, head_seq, head_hash"
        for number in range(5):
            values = f"'ses_{number}', owner, title, metadata, created_at, updated_at, state, status, 0, head_hash"
            connection.execute(
                f"INSERT INTO sessions ({columns}) SELECT {values} FROM sessions WHERE id = ?", [SESSION]
            )

    with open_audit(url) as audit:
        assert list(audit.sessions()) == [*(f"ses_{number}" for number in range(5)), SESSION]


def test_a_session_that_is_not_there_has_no_verdict(url: str, stored: Path) -> None:
    assert stored.exists()
    with open_audit(url) as audit:
        assert audit.verify(SessionId("ses_none")) is None


def test_nothing_can_be_written_through_it(url: str, stored: Path) -> None:
    assert stored.exists()
    with open_audit(url) as audit, pytest.raises(StoreFailure, match="readonly"), audit._looking() as connection:  # pyright: ignore[reportPrivateUsage]
        connection.exec_driver_sql("DELETE FROM sessions")


def test_a_copy_that_nothing_can_be_made_beside_is_read_all_the_same(
    url: str, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    connect = sqlite3.connect

    def refusing(address: str, **options: object) -> sqlite3.Connection:
        opened.append(address.partition("?")[2])
        if "immutable" not in address:
            raise sqlite3.OperationalError("unable to open database file")
        return connect(address, **options)  # pyright: ignore[reportCallIssue, reportArgumentType, reportUnknownVariableType]

    monkeypatch.setattr(sqlite3, "connect", refusing)

    verdict = verify(url)
    assert verdict is not None
    assert (verdict.fault, opened) == (None, ["mode=ro", "mode=ro&immutable=1"])

    opened.clear()
    stored.with_name("store.db-wal").write_bytes(b"")
    with pytest.raises(StoreFailure, match="unable to open"):
        verify(url)
    assert opened == ["mode=ro"]


async def test_what_a_killed_service_left_in_its_write_ahead_log_is_checked_too(url: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    async with open_sql_log(url) as log:
        await make(log, new_session(SESSION), created=body_of(1))
        draft = RecordDraft(turn=None, type="user", body=body_of(2))
        await append(log, SESSION, 1, [draft])
        copy_of(tmp_path, copy)
        row = await log.session(SESSION)

    verdict = await asyncio.to_thread(verify, f"sqlite:///{copy / 'store.db'}")

    assert row is not None
    assert verdict == Verdict(head=Head(seq=2, hash=row.head.hash), fault=None)


def copy_of(folder: Path, to: Path) -> None:
    files = [path for path in folder.iterdir() if path.name in ("store.db", "store.db-wal")]
    to.mkdir()
    for path in files:
        (to / path.name).write_bytes(path.read_bytes())
