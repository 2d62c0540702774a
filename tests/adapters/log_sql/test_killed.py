"""S2: what was acknowledged is on disk, whenever the process dies."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from service.adapters.log_sql import open_sql_log
from service.core.ids import LOCAL_OWNER, ReadingId, SessionId
from tests.adapters.log_contract import readings_made
from tests.adapters.log_contract.readings_made import text_of
from tests.adapters.log_contract.sessions_made import append
from tests.adapters.log_contract.test_chain import assert_chain_holds
from tests.adapters.log_sql.conftest import Look
from tests.adapters.log_sql.reading_texts import LONG

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S2", "S3", "S4")]


@pytest.mark.parametrize("lines", [1, 50, 400])
async def test_a_killed_writer_has_lost_nothing_acknowledged(url: str, look: Look, lines: int) -> None:
    acknowledged: dict[SessionId, int] = {}
    for line in await lines_until_killed("writing_child", lines, url):
        session, seq = line.split()
        acknowledged[SessionId(session)] = int(seq)

    async with open_sql_log(url) as log:
        for session, seq in acknowledged.items():
            records = await log.read(session)
            assert len(records) >= seq
            # Appends are of two records, after the session's first: none is there by half.
            assert len(records) % 2 == 1
            await assert_chain_holds(log, session)
            await append(log, session, len(records))
    assert look("PRAGMA integrity_check") == [("ok",)]
    assert look("PRAGMA foreign_key_check") == []


@pytest.mark.rules("R5")
@pytest.mark.parametrize("lines", [1, 2, 3, 6, 11, 12, 25])
async def test_a_killed_writer_leaves_readings_whole_or_not_at_all(url: str, look: Look, lines: int) -> None:
    told: dict[ReadingId, str] = {}
    for line in await lines_until_killed("reading_child", lines, url):
        word, reading = line.split()
        told[ReadingId(reading)] = word

    async with open_sql_log(url) as log:
        there = {row.id for row in await log.readings(owner=LOCAL_OWNER, limit=10_000)}
        for reading, word in told.items():
            # What was begun and not acknowledged may be there, but then all of it.
            assert word in ("making", "deleting") or (reading in there) == (word != "deleted")
            texts = [await text_of(log, reading, document) for document in (1, 2)]
            expected = [[LONG, b"short"], [b"text", None]] if reading in there else [[None, None]]
            assert texts in expected
        for reading in there:
            row, records = await log.reading(reading), await log.read_reading(reading)
            assert row is not None
            assert row.head.seq == len(records) >= (2 if told.get(reading) == "appended" else 1)
        async with asyncio.timeout(30):
            while look("SELECT count(*) FROM sessions WHERE kind = 'hidden'") != [(0,)]:
                await readings_made.make(log)
    assert look("SELECT count(DISTINCT reading_key) FROM document_texts") == look("SELECT count(*) FROM sessions")
    assert look("PRAGMA integrity_check") == [("ok",)]
    assert look("PRAGMA foreign_key_check") == []


async def lines_until_killed(child: str, lines: int, url: str) -> Sequence[str]:
    """Kill a child after so many lines of its, and give all that it said."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", f"tests.adapters.log_sql.{child}", url),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )
    assert process.stdout is not None
    told: list[bytes] = []
    async with asyncio.timeout(30):
        while len(told) < lines:
            told.append(await process.stdout.readline())
    process.kill()
    # What was still in the pipe was acknowledged as well; a last line that is cut short may not count.
    rest = await process.stdout.read()
    await process.wait()
    told += [line for line in rest.splitlines(keepends=True) if line.endswith(b"\n")]
    return [line.decode() for line in told]
