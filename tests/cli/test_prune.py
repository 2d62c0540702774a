"""S7: `turnkeeper prune` on a real store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.adapters.log_sql import open_sql_log
from service.cli.app import app
from service.core.ids import SessionId, TurnId
from service.core.session_status import SessionState, SessionStatus
from tests.cli.stored_logs import run_sql, url_of, write_log

pytestmark = pytest.mark.rules("S7", "D2")

OLD, FAMILY, CHILD, KEPT_BY_CHILD, YOUNG_CHILD, BUSY, YOUNG = (SessionId(f"ses_{number}") for number in range(7))
RUNNING = SessionStatus(state=SessionState.RUNNING, running=TurnId("trn_1"))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    database = tmp_path / "store.db"
    long_ago, yesterday = datetime.now(UTC) - timedelta(days=40), datetime.now(UTC) - timedelta(days=1)

    async def write() -> None:
        async with open_sql_log(url_of(database)) as store:
            await write_log(store, OLD, 4, at=long_ago)
            await write_log(store, FAMILY, 4, at=long_ago)
            await write_log(store, CHILD, 1, at=long_ago, parent=FAMILY)
            await write_log(store, KEPT_BY_CHILD, 4, at=long_ago)
            await write_log(store, YOUNG_CHILD, 1, at=yesterday, parent=KEPT_BY_CHILD)
            await write_log(store, BUSY, 4, at=long_ago, status=RUNNING)
            await write_log(store, YOUNG, 4, at=yesterday)

    asyncio.run(write())
    return database


def prune(database: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Result:
    url = url_of(database)
    return CliRunner().invoke(app, ["prune", "--database-url", url, *arguments], env=env, catch_exceptions=False)


def sessions_in(database: Path) -> list[str]:
    return [str(row[0]) for row in run_sql(database, "SELECT id FROM sessions ORDER BY id")]


def test_old_sessions_go_and_are_named(database: Path) -> None:
    result = prune(database, "--older-than", "30")

    assert result.exit_code == 0
    assert sorted(result.stdout.splitlines()) == [OLD, FAMILY, CHILD]
    assert result.stderr == "turnkeeper: 3 sessions or readings deleted: idle, and unchanged for more than 30 days\n"
    assert sessions_in(database) == [KEPT_BY_CHILD, YOUNG_CHILD, BUSY, YOUNG]
    assert run_sql(database, "SELECT count(*) FROM records") == [(4 + 1 + 4 + 4,)]
    assert run_sql(database, "SELECT count(*) FROM full_results") == [(3,)]
    assert prune(database, "--older-than", "30").stdout == ""


def test_a_dry_run_names_the_same_and_deletes_nothing(database: Path) -> None:
    before = sessions_in(database)

    result = prune(database, "--older-than", "30", "--dry-run")

    assert result.exit_code == 0
    assert sorted(result.stdout.splitlines()) == [OLD, FAMILY, CHILD]
    told = "3 sessions or readings would be deleted: idle, and unchanged for more than 30 days"
    assert result.stderr == f"turnkeeper: {told}\n"
    assert sessions_in(database) == before
    assert prune(database, "--older-than", "39").stdout.splitlines()
    assert prune(database, "--older-than", "30", "--dry-run").stdout == ""


def test_the_setting_says_how_old_when_the_command_line_does_not(database: Path) -> None:
    setting = {"TURNKEEPER_RETENTION_DAYS": "41"}

    assert prune(database, env=setting).stdout == ""
    assert sorted(prune(database, "--older-than", "39", env=setting).stdout.splitlines()) == [OLD, FAMILY, CHILD]


@pytest.mark.rules("D1")
@pytest.mark.parametrize(("value", "exit_code"), [("0", 2), ("-1", 2), ("36501", 2), ("1.5", 2)])
def test_an_age_that_is_none_deletes_nothing(database: Path, value: str, exit_code: int) -> None:
    before = sessions_in(database)

    result = prune(database, env={"TURNKEEPER_RETENTION_DAYS": value})

    assert result.exit_code == exit_code
    assert "RETENTION_DAYS" in result.stderr.upper()
    assert len(result.stderr.splitlines()) == 1
    assert prune(database, f"--older-than={value}").exit_code == 2
    assert sessions_in(database) == before


@pytest.mark.anyio
@pytest.mark.rules("S2")
async def test_a_store_that_the_service_has_open_is_refused_but_for_a_dry_run(database: Path) -> None:
    async with open_sql_log(url_of(database)):
        refused = await asyncio.to_thread(prune, database, "--older-than", "30")
        dry = await asyncio.to_thread(prune, database, "--older-than", "30", "--dry-run")

    assert refused.exit_code == 1
    assert len(refused.stderr.splitlines()) == 1
    assert "is in use by another process" in refused.stderr
    assert "TURNKEEPER_RETENTION_DAYS" in refused.stderr
    assert (dry.exit_code, len(dry.stdout.splitlines())) == (0, 3)


@pytest.mark.parametrize("arguments", [(), ("--dry-run",)])
def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = prune(tmp_path / "none.db", "--older-than", "30", *arguments)

    assert result.exit_code == 1
    assert result.stderr == f"turnkeeper: there is no file {tmp_path / 'none.db'}\n"
    assert list(tmp_path.iterdir()) == []


def test_one_session_is_told_as_one(database: Path) -> None:
    run_sql(database, "UPDATE sessions SET state = 'running' WHERE id <> 'ses_0'")

    assert "1 session or reading deleted" in prune(database, "--older-than", "30").stderr
