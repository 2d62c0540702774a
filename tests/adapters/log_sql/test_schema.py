"""The tables of the code are those of the migrations, and no read goes through what it doesn't want."""

import sqlite3
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, create_engine, event

from service.adapters.log_sql import open_sql_log
from service.adapters.log_sql.tables import metadata
from service.core.ids import OwnerId, ReadingId, SessionId, TurnId
from tests.adapters.log_contract import readings_made
from tests.adapters.log_contract.sessions_made import make
from tests.adapters.log_contract.stores import Store

pytestmark = pytest.mark.anyio

SESSION = SessionId("ses_1")
READING = ReadingId("rdg_1")
READS: dict[str, tuple[Callable[[Store], Awaitable[Any]], set[str]]] = {
    "read": (lambda log: log.read(SESSION, limit=3), {"records session_key=? AND seq>?"}),
    "read by pos": (lambda log: log.read(SESSION, after_pos=5), {"records session_key=? AND pos>?"}),
    "read a turn": (
        lambda log: log.read(SESSION, turn=TurnId("trn_1")),
        {"records session_key=? AND turn=? AND seq>?"},
    ),
    "full text": (
        lambda log: log.full_text(SESSION, 2),
        {"records session_key=? AND seq=?", "full_results rowid=?"},
    ),
    "session": (lambda log: log.session(SESSION), {"sessions id=?", "records session_key=? AND seq=?"}),
    "sessions": (
        lambda log: log.sessions(owner=None, limit=5, before=SESSION),
        {"sessions id<?", "records session_key=? AND seq=?"},
    ),
    "sessions of an owner": (
        lambda log: log.sessions(owner=OwnerId("ann"), limit=5, before=SESSION),
        {"sessions owner=? AND kind=? AND id<?", "records session_key=? AND seq=?"},
    ),
    "specs": (lambda log: log.specs("abc"), {"specs hash=?"}),
    "reading": (lambda log: log.reading(READING), {"sessions id=?", "records session_key=? AND seq=?"}),
    "read a reading": (lambda log: log.read_reading(READING, after_pos=5), {"records session_key=? AND pos>?"}),
    "readings of an owner": (
        lambda log: log.readings(owner=OwnerId("ann"), limit=5, before=READING),
        {"sessions owner=? AND kind=? AND id<?", "records session_key=? AND seq=?"},
    ),
}
FAMILIES: dict[str, tuple[Callable[[Store], Awaitable[Any]], set[str]]] = {
    "family": (lambda log: log.family(SESSION), set()),
    "family by pos": (
        lambda log: log.read_family(SESSION, after_pos=5, limit=3),
        {"records session_key=? AND pos>?", "records rowid=?", "sessions rowid=?"},
    ),
    "turn of a family": (
        lambda log: log.read_turn_family(SESSION, TurnId("trn_1"), types_below=["user"], after_pos=5, limit=3),
        {
            "records session_key=? AND turn=?",
            "first_of_turn session_key=? AND seq=?",
            "records rowid=?",
            "sessions rowid=?",
        },
    ),
}


@pytest.mark.rules("S6")
async def test_migrations_make_the_tables_that_the_code_uses(url: str) -> None:
    async with open_sql_log(url):
        pass
    engine = create_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, metadata)
    engine.dispose()

    assert differences == []


@pytest.mark.rules("S6")
async def test_a_database_that_is_up_to_date_is_not_written_at_opening(url: str, written: Callable[[], int]) -> None:
    async with open_sql_log(url):
        pass
    before = written()

    async with open_sql_log(url):
        pass

    assert written() == before


@pytest.fixture
def written(database: Path) -> Callable[[], int]:
    """Give what reads SQLite's own count of changes of the file, at byte 24 of its head."""
    return lambda: int.from_bytes(database.read_bytes()[24:28])


@pytest.fixture
def statements() -> Generator[list[tuple[str, Any]]]:
    """Collect the statements that SQLAlchemy runs, with their parameters."""
    seen: list[tuple[str, Any]] = []

    def note(_c: Connection, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        seen.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    yield seen
    event.remove(Engine, "before_cursor_execute", note)


def plan_of(database: Path, statement: str, parameters: Any) -> list[str]:
    connection = sqlite3.connect(database)
    steps = [step for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    connection.close()
    return steps


@pytest.mark.rules("S2")
@pytest.mark.parametrize("name", list(READS))
async def test_a_read_searches_an_index_and_sorts_nothing(
    log: Store, database: Path, statements: list[tuple[str, Any]], name: str
) -> None:
    read, expected = READS[name]

    await read(log)

    ((statement, parameters),) = statements
    searches: set[str] = set()
    for step in plan_of(database, statement, parameters):
        word, *words = step.split()
        assert word in ("SEARCH", "SCALAR")
        if word == "SEARCH":
            searches.add(f"{words[0]} {step[step.index('(') + 1 : -1]}")
    assert searches - {"sessions id=?"} == expected - {"sessions id=?"}


@pytest.mark.rules("S2", "G2")
@pytest.mark.parametrize("name", list(FAMILIES))
async def test_a_family_is_read_through_its_members_and_only_numbers_are_sorted(
    log: Store, database: Path, statements: list[tuple[str, Any]], name: str
) -> None:
    read, expected = FAMILIES[name]

    await read(log)

    ((statement, parameters),) = statements
    plan = plan_of(database, statement, parameters)
    searches = {f"{step.split()[1]} {step[step.index('(') + 1 : -1]}" for step in plan if step.startswith("SEARCH")}
    assert searches - {"sessions id=?", "children parent_session=?"} == expected
    # What is gone through whole is the family; where bodies are read nothing comes behind, a sorter least of all.
    assert {step.split()[1] for step in plan if step.startswith("SCAN")} <= {"family", "turns"}
    if expected:
        assert not [step for step in plan[-1:] if "B-TREE" in step]


@pytest.mark.rules("S2", "A6")
async def test_sessions_that_wait_for_a_person_are_found_without_the_others(
    log: Store, database: Path, statements: list[tuple[str, Any]]
) -> None:
    await make(log)

    await log.awaiting(OwnerId("ann"))

    first, *_ = plan_of(database, *statements[-1])
    assert "ix_sessions_busy" in first


@pytest.mark.rules("S2", "S4")
async def test_busy_sessions_are_found_without_the_others(
    log: Store, database: Path, statements: list[tuple[str, Any]]
) -> None:
    await make(log)

    await log.busy_sessions()

    (step,) = plan_of(database, *statements[-1])
    assert "ix_sessions_busy" in step


@pytest.mark.rules("S2", "R5")
async def test_unfinished_readings_are_found_without_the_others(
    log: Store, database: Path, statements: list[tuple[str, Any]]
) -> None:
    await make(log)

    await log.unfinished_readings()

    (step,) = plan_of(database, *statements[-1])
    assert "ix_sessions_busy" in step


@pytest.mark.rules("S2", "R5")
async def test_a_range_of_a_text_is_read_by_its_parts_alone(
    log: Store, database: Path, statements: list[tuple[str, Any]]
) -> None:
    reading = await readings_made.make(log, documents=[b"x" * 1_000_000])

    await log.document_text(reading, 1, start=200_000, end=300_000)

    (step,) = plan_of(database, *statements[-1])
    assert "(reading_key=? AND document=? AND part>? AND part<?)" in step
    # Sixteen parts, and those that hold the range: 3 and 4.
    assert list(statements[-1][1])[-2:] == [3, 4]
