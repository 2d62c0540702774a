"""A real store in a file, with logs as the service writes them, and raw SQLite to do it damage."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

from service.adapters.log_sql import open_sql_log
from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.records import ParentLink
from service.core.session_status import SessionStatus
from service.ports import NewSession, RecordDraft, SessionLog
from tests.core.written_logs import SPECS, SPECS_HASH, TIME, Log, written


async def write_log(
    store: SessionLog,
    session: SessionId,
    length: int,
    *,
    at: datetime = TIME,
    status: SessionStatus = SessionStatus(),  # noqa: B008 - frozen
    parent: SessionId | None = None,
    log: Log | None = None,
) -> None:
    """Write a session of so many records, all at one time; those of `log`, if one is given."""
    await store.put_specs(SPECS_HASH, SPECS)
    drafts = [
        RecordDraft(
            turn=None if record.turn is None else TurnId(record.turn),
            type=record.type,
            body=record.body,
            full=record.full,
        )
        for record in (log or written(length, session)).records
    ]
    made = NewSession(
        id=session,
        owner=LOCAL_OWNER,
        title="",
        metadata={},
        agent=None,
        parent=None if parent is None else ParentLink(session=parent, turn=TurnId("trn_1"), call=1),
        created_at=at,
    )
    await store.create_session(made, drafts[:1], status)
    if len(drafts) > 1:
        await store.append(session, 1, drafts[1:], status, at)


def write_logs(database: Path, *logs: Log) -> None:
    """Write a store with these logs."""

    async def write() -> None:
        async with open_sql_log(url_of(database)) as store:
            for log in logs:
                await write_log(store, log.session, len(log.records), log=log)

    asyncio.run(write())


def write_store(database: Path, *logs: tuple[SessionId, int]) -> None:
    """Write a store with these sessions, each with so many records."""

    async def write() -> None:
        async with open_sql_log(url_of(database)) as store:
            for session, length in logs:
                await write_log(store, session, length)

    asyncio.run(write())


def url_of(database: Path) -> str:
    return f"sqlite:///{database}"


def run_sql(database: Path, *statements: str | tuple[str, Sequence[object]]) -> list[tuple[object, ...]]:
    """Run statements on the file, past the service and its foreign keys; give the rows of the last."""
    rows: list[tuple[object, ...]] = []
    with closing(sqlite3.connect(database)) as connection, connection:
        for statement in statements:
            text, values = (statement, ()) if isinstance(statement, str) else statement
            rows = connection.execute(text, values).fetchall()
    return rows
