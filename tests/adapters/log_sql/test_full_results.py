"""T9: full results are written in the transaction of their records, and cost nothing where there are none."""

import asyncio
import sqlite3
from collections.abc import Generator

import pytest
from sqlalchemy import Engine, event

from service.adapters.log_sql import open_sql_log
from service.core.errors import StoreFailure
from service.ports import SessionLog
from tests.adapters.log_contract.sessions_made import LATER, append, draft, make, make_child, seqs
from tests.adapters.log_contract.test_chain import assert_chain_holds
from tests.adapters.log_sql.commits import commits_watched
from tests.adapters.log_sql.conftest import Look
from tests.adapters.log_sql.test_group_commit import in_one_group

pytestmark = [pytest.mark.anyio, pytest.mark.rules("T9", "S2")]

REFUSE_BAD_TEXTS = (
    "CREATE TRIGGER refusal BEFORE INSERT ON full_results WHEN NEW.body = CAST('bad' AS BLOB) "
    "BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END"
)
REFUSE_BAD_RECORDS = (
    "CREATE TRIGGER refusal BEFORE INSERT ON records WHEN NEW.body = CAST('bad' AS BLOB) "
    "BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END"
)


@pytest.fixture
def statements() -> Generator[list[str]]:
    """Collect what SQLite itself runs, on each connection made from now on."""
    seen: list[str] = []

    def trace(connection: sqlite3.Connection, _pooled: object) -> None:
        connection.set_trace_callback(seen.append)

    event.listen(Engine, "connect", trace)
    yield seen
    event.remove(Engine, "connect", trace)


def kinds(statements: list[str]) -> list[str]:
    """Name what each statement does, without its values."""
    return [" ".join(statement.split()[:3]) for statement in statements]


async def test_an_append_without_texts_runs_no_statement_for_them(statements: list[str], url: str) -> None:
    async with open_sql_log(url) as log:
        session = await make(log)
        statements.clear()

        await append(log, session, 1, [draft(), draft()])

        assert kinds(statements) == [
            "BEGIN IMMEDIATE",
            "INSERT INTO records",
            "INSERT INTO records",
            "UPDATE sessions SET",
            "COMMIT",
        ]


async def test_texts_are_written_with_the_records_of_a_group_in_one_transaction(
    statements: list[str], url: str
) -> None:
    async with open_sql_log(url) as log:
        sessions = [await make(log) for _ in range(3)]
        full = [b"one", None, b"three"]
        appends = [append(log, session, 1, [draft(full=text)]) for session, text in zip(sessions, full, strict=True)]

        with commits_watched() as commits:
            await in_one_group(log, commits, *appends, faults=[])

        wrote = [kind for kind in kinds(statements) if kind.startswith(("INSERT", "COMMIT"))]
        assert wrote[-6:] == [*["INSERT INTO records"] * 3, *["INSERT INTO full_results"] * 2, "COMMIT"]
        assert [await log.full_text(session, 2) for session in sessions] == full


async def test_a_group_that_is_sent_in_parts_sends_each_text_once(log: SessionLog) -> None:
    session, other = await make(log), await make(log)

    with commits_watched() as commits:
        # A change of a title is made behind the appends that came before it, so these are sent first.
        await in_one_group(
            log,
            commits,
            append(log, session, 1, [draft(full=b"before")]),
            log.update_session(other, title="new", metadata=None, now=LATER),
            append(log, session, 2, [draft(full=b"behind")]),
            faults=[],
        )

    assert commits.begun == 1
    assert [await log.full_text(session, seq) for seq in (2, 3)] == [b"before", b"behind"]


@pytest.mark.rules("S1", "S5")
async def test_a_text_that_cannot_be_written_fails_its_append_and_no_other(log: SessionLog, look: Look) -> None:
    session, other = await make(log), await make(log)
    look(REFUSE_BAD_TEXTS)

    results = await asyncio.gather(
        append(log, session, 1, [draft(full=b"good"), draft(full=b"bad")]),
        append(log, other, 1, [draft(full=b"good")]),
        return_exceptions=True,
    )

    assert [isinstance(result, StoreFailure) for result in results] == [True, False]
    assert seqs(await log.read(session)) == [1]
    assert look("SELECT count(*) FROM full_results") == [(1,)]
    assert await log.full_text(other, 2) == b"good"
    await assert_chain_holds(log, session)


@pytest.mark.rules("S1", "S5")
async def test_a_record_that_cannot_be_written_keeps_no_text(log: SessionLog, look: Look) -> None:
    session = await make(log)
    look(REFUSE_BAD_RECORDS)

    with pytest.raises(StoreFailure):
        await append(log, session, 1, [draft(full=b"whole"), draft(b"bad", full=b"whole")])

    assert look("SELECT count(*) FROM full_results") == [(0,)]
    assert seqs(await append(log, session, 1)) == [2]
    assert await log.full_text(session, 2) is None


@pytest.mark.rules("S5")
async def test_a_disk_too_full_for_a_text_fails_its_append_alone(log: SessionLog) -> None:
    session = await make(log)
    with commits_watched() as commits:
        commits.pages_allowed = 1  # not less than there are, so none may be added
        with pytest.raises(StoreFailure, match="full"):
            await append(log, session, 1, [draft(full=b"x" * 8 * 1024 * 1024)])

        assert seqs(await append(log, session, 1)) == [2]
    assert await log.full_text(session, 2) is None


@pytest.mark.rules("H9")
async def test_a_deleted_session_leaves_no_text_in_the_file(log: SessionLog, look: Look) -> None:
    session = await make(log)
    child = await make_child(log, session)
    for each in (session, child):
        await append(log, each, 1, [draft(full=b"whole")])
    assert look("SELECT count(*) FROM full_results") == [(2,)]

    await log.delete_session(session)

    assert look("SELECT count(*) FROM full_results") == [(0,)]
