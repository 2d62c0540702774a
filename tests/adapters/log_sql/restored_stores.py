"""A backup and a store that it is restored over, and what is in a folder afterwards."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from service.adapters.log_sql import open_sql_log
from service.adapters.log_sql.audit import open_audit
from service.adapters.log_sql.backup import back_up
from service.adapters.log_sql.restore import Restored, restore
from service.core.ids import SessionId
from tests.adapters.log_sql.copied_stores import NOW, make_store
from tests.cli.stored_logs import run_sql, url_of

OLD, NEW = SessionId("ses_in_backup"), SessionId("ses_since")
WHOLE_OLD = [(NEW, "in the log alone")]
"""The sessions with their titles in a store that was replaced with its write-ahead log."""


def make_backup(folder: Path) -> Path:
    """Make a backup of a store that is not there any more."""
    make_store(folder / "source.db", OLD, records=20)
    to = folder / "backups" / "backup.db"
    to.parent.mkdir()
    back_up(url_of(folder / "source.db"), to, NOW)
    (folder / "source.db").unlink()
    return to


def make_killed_store(path: Path) -> None:
    """Make a store as a killed service leaves it: the title of its session is in the write-ahead log alone."""
    made = path.parent.with_name("made") / path.name
    make_store(made, NEW, records=4)
    with closing(sqlite3.connect(made)) as connection:
        connection.execute("UPDATE sessions SET title = 'in the log alone'")
        connection.commit()
        shutil.copytree(made.parent, path.parent, ignore=shutil.ignore_patterns("*.lock"))
    shutil.rmtree(made.parent)
    assert path.with_name("store.db-wal").stat().st_size > 0


def restore_it(backup: Path, store: Path, *, replace: bool = False, verify: bool = True) -> Restored:
    return restore(backup, url_of(store), NOW, replace=replace, verify=verify)


def sessions_in(path: Path) -> list[SessionId]:
    """Give the sessions in a store of which each log verifies."""
    with open_audit(url_of(path)) as audit:
        verdicts = {session: audit.verify(session) for session in audit.sessions()}
        assert list(audit.homeless()) == []
    assert [session for session, verdict in verdicts.items() if verdict is None or verdict.fault] == []
    return list(verdicts)


def contents_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".lock"}


async def opens(path: Path) -> None:
    async with open_sql_log(url_of(path)) as log:
        await log.check()


def kept_beside(store: Path) -> list[list[tuple[object, ...]]]:
    asides = [path for path in store.parent.glob("*.replaced-*") if path.name.endswith("Z")]
    return [run_sql(path, "SELECT id, title FROM sessions") for path in asides]
