"""Child processes with a log each: start them, see the first one end, end them all."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from service.cli.demo.plan import Command

LAST_LINES = 15
# The service drains for a few seconds when it is told to end; nothing of the demo may hold Ctrl-C longer.
END_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A started process, its name and its log."""

    name: str
    process: asyncio.subprocess.Process
    log: Path

    def how_it_ended(self) -> str:
        """Say the exit code, or the signal that ended the process."""
        code = self.process.returncode
        if code is not None and code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def last_lines(self) -> str:
        """Return the end of the log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(f"  {line}" for line in lines[-LAST_LINES:])


class Children:
    """The children of one demo; leaving the context ends those that still run."""

    def __init__(self, logs: Path, *, end_within_s: float = END_WITHIN_S) -> None:
        self._logs = logs
        self._end_within_s = end_within_s
        self._started: list[Child] = []

    async def __aenter__(self) -> Self:
        """Make the folder of the logs."""
        self._logs.mkdir(parents=True, exist_ok=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End what still runs: ask first, after the bound by force."""
        running = [child.process for child in self._started if child.process.returncode is None]
        for process in running:
            _signal_group(process, signal.SIGTERM)
        try:
            async with asyncio.timeout(self._end_within_s):
                await asyncio.gather(*(process.wait() for process in running))
        except TimeoutError:
            for process in running:
                _kill_group(process)
            await asyncio.gather(*(process.wait() for process in running))

    async def start(self, command: Command) -> Child:
        """Start a process whose output goes to its log, in a process group of its own.

        Its own group, so that Ctrl-C at the terminal reaches the demo alone, which then ends all in order.
        """
        path = self._logs / f"{command.name.removeprefix('the ').replace(' ', '-')}.log"
        with path.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *command.arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ | dict(command.environment),
                **_own_group(),
            )
        child = Child(name=command.name, process=process, log=path)
        self._started.append(child)
        return child

    async def first_end(self) -> Child:
        """Wait until a child ends by itself, and return it."""
        waits = {asyncio.create_task(child.process.wait(), name=child.name): child for child in self._started}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return next(child for wait, child in waits.items() if wait.done())
        finally:
            await _cancelled(list(waits))


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"process_group": 0}


def _signal_group(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    if process.returncode is not None:
        return
    if sys.platform == "win32":
        process.terminate()
    else:
        os.killpg(process.pid, number)


def _kill_group(process: asyncio.subprocess.Process) -> None:
    _signal_group(process, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)


async def _cancelled(tasks: Sequence[asyncio.Task[int]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
