"""A process that makes, continues and deletes long readings without end and tells what it did, until it is killed."""

import asyncio
import sys

from service.adapters.log_sql import open_sql_log
from tests.adapters.log_contract.readings_made import append, make, new_reading
from tests.adapters.log_contract.stores import Store
from tests.adapters.log_sql.reading_texts import LONG


def tell(word: str, reading: str) -> None:
    sys.stdout.write(f"{word} {reading}\n")
    sys.stdout.flush()


async def read_on(log: Store) -> None:
    while True:
        made = new_reading()
        tell("making", made.id)
        await make(log, made, [LONG, b"short"])
        tell("made", made.id)
        await append(log, made.id, 1)
        tell("appended", made.id)
        stays = await make(log)
        tell("made", stays)
        tell("deleting", made.id)
        await log.delete_reading(made.id)
        tell("deleted", made.id)


async def main() -> None:
    async with open_sql_log(sys.argv[1]) as log, asyncio.TaskGroup() as readers:
        for _ in range(2):
            readers.create_task(read_on(log))


asyncio.run(main())
