"""Starts services quickly: a process that has imported everything, and forks for each start.

What is forked has no thread, no loop and no open store, so it is what a fresh interpreter would be after its
imports. The protocol, a line each way at a time: in comes a start as JSON (`module`, `arguments`,
`environment`); out go
`started PID` and, when it is dead, `ended STATUS`. When the input ends, what still runs is killed.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
from collections.abc import Mapping, Sequence

_NEEDED = (
    "alembic.command",
    "alembic.runtime.migration",
    "httptools",
    "service.bootstrap",
    "service.cli.app",
    "service.web.app",
    "service.cli.serve",
    "sqlalchemy.dialects.sqlite.pysqlite",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
)


def main() -> None:
    """Start a service for each line of the input."""
    for module in _NEEDED:
        importlib.import_module(module)
    while line := os.read(0, 1 << 20):
        start = json.loads(line)
        _one_life(start["module"], start["arguments"], start["environment"])


def _one_life(module: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    # Nothing is ever written: the end of the file is the end of the child.
    life, living = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(life)
        _serve(module, arguments, environment)
    os.close(living)
    _say(f"started {child}")
    readable, _, _ = select.select([life, 0], [], [])
    if life not in readable:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(life)
    _say(f"ended {os.waitstatus_to_exitcode(status)}")


def _serve(module: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    # The input is the nursery's, and the output too: a service writes to its standard error.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.environ.update(environment)
    sys.argv = ["turnkeeper", *arguments]
    try:
        importlib.import_module(module).main()
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)
    finally:
        os._exit(1)


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    main()
