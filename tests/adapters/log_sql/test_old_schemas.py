"""Databases of earlier versions open, are brought up to date, and lose nothing (S6)."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest

from service.adapters.log_sql import open_sql_log
from service.adapters.log_sql.audit import open_audit
from service.codec import decode_reading_record, decode_record
from service.core.errors import StoreFailure
from service.core.ids import LOCAL_OWNER
from service.core.reading.records import ReadingRecord
from service.core.reading.status import ReadingState
from service.core.records import Outcome, TurnFinished, User
from service.ports import StoredRecord
from service.ports.reading_log import ReadingRow, StoredReadingRecord
from tests.adapters.log_contract import readings_made
from tests.adapters.log_sql.old_databases import ENDED, UNFINISHED, database_of
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, say

pytestmark = pytest.mark.rules("S6")

REVISIONS = sorted((Path(__file__).parents[3] / "service/adapters/log_sql/migrations/versions").glob("[0-9]*.py"))


@pytest.fixture(params=ENDED, ids=lambda path: path.stem)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return database_of(request.param, tmp_path)


def test_each_revision_has_databases_that_it_made() -> None:
    revisions = [path.name[:4] for path in REVISIONS]
    assert [path.stem for path in ENDED] == revisions
    assert [path.stem for path in UNFINISHED] == [f"{revision}-unfinished" for revision in revisions]


def test_every_record_of_an_old_database_is_read_and_its_chain_holds(url: str) -> None:
    stored = asyncio.run(_all_records(url))
    entries = [decode_record(record.body) for record in stored]
    assert len([entry for entry in entries if isinstance(entry.record, User)]) == 4
    assert len([entry for entry in entries if isinstance(entry.record, TurnFinished)]) == 4
    with open_audit(url) as audit:
        verdicts = [audit.verify(session) for session in audit.sessions()]
        assert list(audit.homeless()) == []
    assert [verdict and verdict.fault for verdict in verdicts] == [None, None]


def test_a_store_that_was_not_yet_brought_up_to_date_is_checked_or_refused_with_what_to_do(url: str) -> None:
    refused = None
    try:
        with open_audit(url) as audit:
            verdicts = [audit.verify(session) for session in audit.sessions()]
            assert [verdict and verdict.fault for verdict in verdicts] == [None, None]
    except StoreFailure as failure:
        refused = str(failure)
    database = Path(url.removeprefix("sqlite:///"))
    (schema,) = sqlite3.connect(database).execute("SELECT version_num FROM alembic_version").fetchone()

    if schema in ("0001", "0002"):
        assert refused is not None
        assert f"older version of Turnkeeper (schema {schema}): the next start of the service" in refused
    else:
        assert refused is None


async def _all_records(url: str) -> list[StoredRecord]:
    async with open_sql_log(url) as log:
        rows = await log.sessions(owner=LOCAL_OWNER, limit=10)
        return [record for row in rows for record in await log.read(row.id)]


@pytest.mark.rules("R5", "R8")
def test_readings_of_an_old_database_are_read_and_their_chains_hold(url: str) -> None:
    rows, records = asyncio.run(_all_readings(url))
    entries = [decode_reading_record(record.body) for record in records]
    with open_audit(url) as audit:
        verdicts = [audit.verify_reading(reading) for reading in audit.readings()]

    assert [verdict and verdict.fault for verdict in verdicts] == [None] * len(rows)
    assert {type(entry.record) for entry in entries} == (set(get_args(ReadingRecord)) if rows else set())
    assert [row.status.state for row in rows] in ([], [ReadingState.QUEUED, ReadingState.FINISHED])


async def _all_readings(url: str) -> tuple[Sequence[ReadingRow], list[StoredReadingRecord]]:
    async with open_sql_log(url) as log:
        rows = await log.readings(owner=LOCAL_OWNER, limit=10)
        return rows, [record for row in rows for record in await log.read_reading(row.id)]


def test_the_newest_database_has_readings() -> None:
    assert "rdg_" in ENDED[-1].read_text(encoding="utf-8")


@pytest.mark.anyio
async def test_an_old_database_takes_readings(url: str) -> None:
    async with open_sql_log(url) as log:
        reading = await readings_made.make(log, readings_made.new_reading(), [b"text"])
        assert reading in await log.unfinished_readings()
        assert await readings_made.text_of(log, reading) == b"text"


@pytest.mark.anyio
async def test_an_old_session_goes_on(url: str) -> None:
    async with open_sql_log(url) as log:
        (old,) = [row for row in await log.sessions(owner=LOCAL_OWNER, limit=10) if row.head.seq > 1]
        house = House(ScriptedLlama(say("And on.")), log=log)
        house.clock.seconds += 1
        view = await house.run(old.id, "Still there?")
    assert (view.outcome, view.content) == (Outcome.ANSWERED, "And on.")
    assert "It rains, and there is news." in [message["content"] for message in house.llama.requests[0].messages]
