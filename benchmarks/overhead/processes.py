"""A server as a process group of its own, which ends with the measurement, however that ends.

Above: the bench, which starts servers. Below: the cores, the address of a server.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.overhead.adapters import Address
from benchmarks.overhead.cores import pinned
from benchmarks.overhead.failures import MeasurementFailed

_LOOK_AGAIN_S = 0.1
_SHOWN_BYTES = 2000
# Beyond what a server of these asks for after SIGTERM.
_END_S = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is run, with the variables that are added to those of this process."""

    arguments: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict[str, str])


def free_port() -> int:
    """Give a port of the loopback interface that nobody listens on now."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class ServerProcess:
    """A running server; whoever makes one ends it."""

    def __init__(self, name: str, command: Command, *, folder: Path, core: int | None) -> None:
        """Start it in a folder, on a core."""
        self.name = name
        self._log = folder / f"{name}.log"
        # A setting of whoever runs this would change what is measured.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TURNKEEPER_")}
        with pinned(core), self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command.arguments,
                cwd=folder,
                env={**kept, **command.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = self._process.pid

    async def wait_until_it_listens(self, address: Address, within_s: float) -> None:
        """Wait until connections are taken.

        Raises:
            MeasurementFailed: it ended, or takes too long; with the end of what it said.
        """
        try:
            async with asyncio.timeout(within_s):
                while not await _takes_connections(address):
                    if self._process.poll() is not None:
                        raise MeasurementFailed(f"{self.name} ended with {self._process.returncode}: {self.said()}")
                    await asyncio.sleep(_LOOK_AGAIN_S)
        except TimeoutError as error:
            raise MeasurementFailed(f"{self.name} does not listen after {within_s:g} s: {self.said()}") from error

    def said(self) -> str:
        """Give the end of what it printed."""
        return self._log.read_bytes()[-_SHOWN_BYTES:].decode("utf-8", "replace").strip()

    def pause(self) -> None:
        """Stop it and all that it started where they stand."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on after a pause; one that runs runs on."""
        self._signal(signal.SIGCONT)

    def end(self) -> None:
        """End it and all that it started, also in a pause: asked to at first, then made to."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            self._signal(number)
            self.go_on()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_S)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)


async def _takes_connections(address: Address) -> bool:
    try:
        _, writer = await asyncio.open_connection(address.host, address.port)
    except OSError:
        return False
    writer.close()
    return True
