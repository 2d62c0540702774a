"""The service as a real process, which can be killed at any moment and started again on the same file."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
START_S = 60
"""How long a start may take."""

_LINES_KEPT = 30
_READY = b" Ctrl-C to stop"


def free_port() -> int:
    """Find a TCP port of loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ServiceProcess:
    """Starts and kills a service that has one address and one store over all its lives.

    `program` is the module whose `main` the nursery calls. `died` is set while no process runs. `said` holds the last
    lines of all lives.
    """

    def __init__(self, folder: Path, *, program: str, **settings: str) -> None:
        self._program = program
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.store = folder / "store.db"
        self.database_url = f"sqlite:///{self.store.as_posix()}"
        self.pid = 0
        self.starts = 0
        self.said: deque[str] = deque(maxlen=_LINES_KEPT)
        self.died = asyncio.Event()
        self.died.set()
        self._environment = {
            "TURNKEEPER_DATABASE_URL": self.database_url,
            **{f"TURNKEEPER_{name.upper()}": value for name, value in settings.items()},
        }
        self._arguments = ("serve", "--port", str(self.port))
        self._awaited: list[tuple[str, asyncio.Future[str]]] = []
        self._ready = asyncio.Event()
        self._has_pid = asyncio.Event()
        self._nursery: Process | None = None
        self._readers: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def with_nursery(self) -> AsyncGenerator[ServiceProcess]:
        """Start from now on by forking a process that has imported everything; at the end nothing runs."""
        command = (sys.executable, "-m", "tests.crashes.nursery")
        nursery = self._nursery = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        self._read(self._read_errors(nursery))
        self._read(self._read_nursery(nursery))
        try:
            yield self
        finally:
            await self.kill()
            assert nursery.stdin is not None
            nursery.stdin.close()
            await nursery.wait()
            await asyncio.gather(*self._readers)

    async def start(self, extra: Mapping[str, str] | None = None, *, module: str = "", may_die: bool = False) -> None:
        """Start the service and wait until it takes requests; with `may_die` also until it dies before.

        With `module` a new interpreter runs that; else the nursery forks. `extra` is added to the environment.
        """
        assert self.died.is_set()
        environment = {**self._environment, **(extra or {})}
        self.starts += 1
        self._ready.clear()
        self._has_pid.clear()
        if module:
            await self._start_interpreter(module, environment)
        else:
            await self._start_in_nursery(environment)
        async with asyncio.timeout(START_S):
            await self._has_pid.wait()
            await self._ready.wait()
        if self.died.is_set() and not may_die:
            raise RuntimeError(f"the service did not start: {self.last_words()}")

    async def _start_interpreter(self, module: str, environment: Mapping[str, str]) -> None:
        command = (sys.executable, "-m", module, *self._arguments)
        everything = {**os.environ, **environment}
        process = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=everything, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE
        )
        self.pid = process.pid
        self._has_pid.set()
        self.died.clear()
        self._read(self._read_errors(process))
        self._read(self._await_end(process))

    async def _start_in_nursery(self, environment: Mapping[str, str]) -> None:
        assert self._nursery is not None
        assert self._nursery.stdin is not None
        self.died.clear()
        start = {"module": self._program, "arguments": self._arguments, "environment": environment}
        self._nursery.stdin.write(json.dumps(start).encode() + b"\n")

    async def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Kill the process, as a rule like the kernel for want of memory, and wait until it is gone."""
        if not self.died.is_set():
            # One that has only just been asked for has no id yet, and 0 would be everybody.
            async with asyncio.timeout(START_S):
                await self._has_pid.wait()
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)
            async with asyncio.timeout(START_S):
                await self.died.wait()

    async def next_line(self, beginning: str) -> str:
        """Wait for the next line that begins so."""
        line = asyncio.get_running_loop().create_future()
        self._awaited.append((beginning, line))
        return await line

    def last_words(self) -> str:
        """Give what the service wrote last."""
        return "\n".join(self.said)

    def _read(self, reading: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(reading)
        self._readers.add(task)
        task.add_done_callback(self._readers.discard)

    async def _read_errors(self, process: Process) -> None:
        assert process.stderr is not None
        while line := await process.stderr.readline():
            text = line.decode(errors="replace").rstrip()
            self.said.append(text)
            for beginning, awaited in self._awaited:
                if text.startswith(beginning) and not awaited.done():
                    awaited.set_result(text)
            self._awaited = [one for one in self._awaited if not one[1].done()]
            if _READY in line:
                self._ready.set()

    async def _read_nursery(self, nursery: Process) -> None:
        assert nursery.stdout is not None
        while line := await nursery.stdout.readline():
            what, _, number = line.decode().partition(" ")
            if what == "started":
                self.pid = int(number)
                self._has_pid.set()
            else:
                self._is_dead()
        # Without the nursery nothing runs, and nothing will.
        self._is_dead()
        self._has_pid.set()

    async def _await_end(self, process: Process) -> None:
        await process.wait()
        self._is_dead()

    def _is_dead(self) -> None:
        self.died.set()
        self._ready.set()
