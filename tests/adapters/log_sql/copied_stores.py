"""Stores with logs that verify, what is in their files, and damage to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from service.adapters.log_sql.backup import Backup, back_up
from service.core.errors import StoreFailure
from service.core.ids import SessionId
from tests.cli.stored_logs import url_of, write_store

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
RECORDS = 400
"""Enough for SQLite to give a sign while it copies them."""
SESSION = SessionId("ses_one")
PAGE_BYTES = 4096


def make_store(path: Path, *sessions: SessionId, records: int = RECORDS) -> None:
    """Write a store of one session, or of these."""
    write_store(path, *((session, records) for session in sessions or (SESSION,)))


def bodies(path: Path) -> list[tuple[int, bytes]]:
    """Give the records in a file by their places."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT pos, body FROM records ORDER BY pos").fetchall()


def change(path: Path, statement: str, *values: object) -> None:
    """Change a file past the service."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def schema_in(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]


def make_old_store(path: Path, schema: Path) -> None:
    """Write the database that an earlier version made."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema.read_text(encoding="utf-8"))


def damage(path: Path) -> None:
    """Overwrite pages in the middle, which SQLite sees only when it gets there."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2 // PAGE_BYTES * PAGE_BYTES)
        file.write(b"\xff" * PAGE_BYTES * 3)


def names_in(folder: Path) -> Sequence[str]:
    return sorted(path.name for path in folder.iterdir())


def back_up_all(store: Path, to: Path, at_each_step: Callable[[], object] = int) -> Backup:
    return back_up(url_of(store), to, NOW, at_each_step=at_each_step)


def assert_no_backup(store: Path, to: Path, message: str, *, force: bool = False) -> None:
    with pytest.raises(StoreFailure) as refusal:
        back_up(url_of(store), to, NOW, force=force)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
