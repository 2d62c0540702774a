"""S2: what was acknowledged is on disk, whenever the process dies."""

import asyncio
import sys
from pathlib import Path

import pytest

from service.adapters.log_sql import open_sql_log
from service.core.ids import SessionId
from tests.adapters.log_contract.sessions_made import append
from tests.adapters.log_contract.test_chain import assert_chain_holds
from tests.adapters.log_sql.conftest import Look

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S2", "S3", "S4")]


@pytest.mark.parametrize("lines", [1, 50, 400])
async def test_a_killed_writer_has_lost_nothing_acknowledged(url: str, look: Look, lines: int) -> None:
    acknowledged = await kill_after(lines, url)

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


async def kill_after(lines: int, url: str) -> dict[SessionId, int]:
    """Kill the writing child after so many acknowledgements, and give the last of each session."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.adapters.log_sql.writing_child", url),
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
    acknowledged: dict[SessionId, int] = {}
    for line in told:
        session, seq = line.split()
        acknowledged[SessionId(session.decode())] = int(seq)
    return acknowledged
