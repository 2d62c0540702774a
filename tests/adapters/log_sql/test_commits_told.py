"""Whoever counts is told of each commit: how long its writes took, and which of them the store could not carry out."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

import pytest

from service.adapters.log_sql import open_sql_log
from service.core.errors import SequenceConflict, StoreFailure
from tests.adapters.log_contract.sessions_made import append, make

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S2")]


class Commits:
    """What was told."""

    def __init__(self) -> None:
        self.seconds: list[Collection[float]] = []
        self.failed = 0

    def __call__(self, seconds: Collection[float], failed: int) -> None:
        self.seconds.append(seconds)
        self.failed += failed

    @property
    def writes(self) -> int:
        return sum(map(len, self.seconds))


async def test_each_write_is_told_once_with_its_time_by_when_its_caller_goes_on(url: str) -> None:
    told = Commits()
    async with open_sql_log(url, committed=told) as log:
        before = told.writes
        sessions = await asyncio.gather(*(make(log) for _ in range(20)))
        assert told.writes - before == 20
        await append(log, sessions[0], 1)
        assert told.writes - before == 21

    assert all(each > 0 for seconds in told.seconds for each in seconds)
    assert len(told.seconds) <= told.writes
    assert told.failed == 0


async def test_a_write_that_a_rule_refuses_is_no_failure_of_the_store_and_one_that_it_cannot_make_is(
    url: str, database: Path
) -> None:
    told = Commits()
    async with open_sql_log(url, committed=told, busy_timeout_ms=50) as log:
        session = await make(log)
        with pytest.raises(SequenceConflict):
            await append(log, session, 7)
        assert told.failed == 0
        with closing(sqlite3.connect(database, isolation_level=None)) as shell:
            shell.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreFailure, match="locked"):
                await append(log, session, 1)
            shell.execute("ROLLBACK")

    assert told.failed == 1
