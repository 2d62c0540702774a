"""Write two databases of this version as SQL: `python -m tests.adapters.log_sql.schemas`, once for each revision.

One has turns that ended, the other turns in their middle. The files are named by the revision and never written again:
later versions show with them that they read old logs, and go on with them (S6, S4).
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
from pathlib import Path

from service.adapters.log_sql import open_sql_log
from service.core.errors import ErrorKind, ModelFailure
from tests.adapters.log_sql.schemas.unfinished import write_unfinished
from tests.adapters.log_sql.schemas.written_reading import write_readings
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, result, spec

HERE = Path(__file__).parent


async def write(path: Path) -> None:
    """Run some turns and readings in which all kinds of records come about."""
    script = [
        ask_for(call("weather", '{"city": "Oslo"}'), call("news", id="b")),
        say("It rains, and there is news."),
        Play(content="Half", failure=ModelFailure(ErrorKind.STREAM_CLOSED, "broke")),
        say("Whole, with a line\u2028separator and a 😀."),
        ask_for(call("weather", "{")),
        say("", finish_reason="length"),
        say("Late.", cached_tokens=0),
    ]
    port = TablePort(spec("weather"), spec("news", untrusted=True), tools={"news": lambda _: result("news " * 9000)})
    async with open_sql_log(f"sqlite:///{path}") as log:
        house = House(ScriptedLlama(*script), port, log=log)
        session = await house.session(system="Be brief.", title="Grüße", metadata={"ticket": "7"})
        for content in ("What is new?", "And now?", "Again.", "More?"):
            await house.run(session, content)
        await house.session()
        await write_readings(log)


def main() -> None:
    """Write the files of the newest revision, but none that is there."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        asyncio.run(write(path))
        with sqlite3.connect(path) as connection:
            (revision,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
            _keep(HERE / f"{revision}.sql", "\n".join(connection.iterdump()))
            _keep(HERE / f"{revision}-unfinished.sql", asyncio.run(write_unfinished(Path(folder) / "unfinished.db")))


def _keep(target: Path, dump: str) -> None:
    if target.exists():
        sys.stdout.write(f"{target.name} is there already, and stays as it is\n")
    else:
        target.write_text(f"{dump}\n", encoding="utf-8")
        sys.stdout.write(f"{target.name} is written\n")


if __name__ == "__main__":
    main()
