"""Databases of earlier versions open, are brought up to date, and lose nothing (S6)."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from service.adapters.log_sql import open_sql_log
from service.adapters.log_sql.audit import open_audit
from service.codec import decode_record
from service.core.ids import LOCAL_OWNER
from service.core.records import Outcome, TurnFinished, User
from service.ports import StoredRecord
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, say

pytestmark = pytest.mark.rules("S6")

SCHEMAS = sorted((Path(__file__).parent / "schemas").glob("*.sql"))
REVISIONS = sorted((Path(__file__).parents[3] / "service/adapters/log_sql/migrations/versions").glob("[0-9]*.py"))


@pytest.fixture(params=SCHEMAS, ids=lambda path: path.stem)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / "store.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(request.param.read_text(encoding="utf-8"))
    connection.close()
    return f"sqlite:///{path}"


def test_each_revision_has_a_database_that_it_made() -> None:
    assert [path.stem for path in SCHEMAS] == [path.name[:4] for path in REVISIONS]


def test_every_record_of_an_old_database_is_read_and_its_chain_holds(url: str) -> None:
    stored = asyncio.run(_all_records(url))
    entries = [decode_record(record.body) for record in stored]
    assert len([entry for entry in entries if isinstance(entry.record, User)]) == 4
    assert len([entry for entry in entries if isinstance(entry.record, TurnFinished)]) == 4
    with open_audit(url) as audit:
        verdicts = [audit.verify(session) for session in audit.sessions()]
        assert list(audit.homeless()) == []
    assert [verdict and verdict.fault for verdict in verdicts] == [None, None]


async def _all_records(url: str) -> list[StoredRecord]:
    async with open_sql_log(url) as log:
        rows = await log.sessions(owner=LOCAL_OWNER, limit=10)
        return [record for row in rows for record in await log.read(row.id)]


@pytest.mark.anyio
async def test_an_old_session_goes_on(url: str) -> None:
    async with open_sql_log(url) as log:
        (old,) = [row for row in await log.sessions(owner=LOCAL_OWNER, limit=10) if row.head.seq > 1]
        house = House(ScriptedLlama(say("And on.")), log=log)
        house.clock.seconds += 1
        view = await house.run(old.id, "Still there?")
    assert (view.outcome, view.content) == (Outcome.ANSWERED, "And on.")
    assert "It rains, and there is news." in [message["content"] for message in house.llama.requests[0].messages]
