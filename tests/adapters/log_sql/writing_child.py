"""A process that appends without end and tells what was acknowledged, until it is killed."""

import asyncio
import sys

from service.adapters.log_sql import open_sql_log
from service.core.ids import SessionId
from service.ports import SessionLog
from tests.adapters.log_contract.sessions_made import append, draft, make, running


async def write_on(log: SessionLog, session: SessionId) -> None:
    seq = 1
    while True:
        stored = await append(log, session, seq, [draft(b"x" * 3000), draft(b"y" * 300)], status=running())
        seq = stored[-1].seq
        sys.stdout.write(f"{session} {seq}\n")
        sys.stdout.flush()


async def main() -> None:
    async with open_sql_log(sys.argv[1]) as log, asyncio.TaskGroup() as writers:
        for session in [await make(log) for _ in range(8)]:
            writers.create_task(write_on(log, session))


asyncio.run(main())
