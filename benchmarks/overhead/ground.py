"""Where everything of one benchmark runs: a temporary folder, two cores, the upstream, and the servers before it.

Above: the rounds. Below: processes, subjects, the fake llama-server.
"""

from __future__ import annotations

import resource
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.overhead.adapters import Address
from benchmarks.overhead.closed_loop import warm_up
from benchmarks.overhead.cores import Cores, pinned
from benchmarks.overhead.fake_llama import compile_fake_llama
from benchmarks.overhead.processes import Command, ServerProcess, free_port
from benchmarks.overhead.subjects import Place, Subject
from benchmarks.overhead.target import Target

_LOOPBACK = "127.0.0.1"
_FAKE_STARTS_S = 10
# A proxy of many packages takes its time.
_STARTS_S = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What all subjects share."""

    folder: Path
    cores: Cores
    upstream: Address
    upstream_pid: int

    @asynccontextmanager
    async def running(self, subject: Subject) -> AsyncGenerator[Target]:
        """Start a subject in a folder of its own, warm it up, and end it.

        Raises:
            MeasurementFailed: it doesn't start, or doesn't answer.
        """
        if subject.command is None:
            yield Target(subject, self.upstream, pid=self.upstream_pid, upstream=self.upstream)
            return
        address = Address(host=_LOOPBACK, port=free_port())
        folder = Path(tempfile.mkdtemp(prefix=f"{subject.name}-", dir=self.folder))
        place = Place(port=address.port, upstream=f"http://{_LOOPBACK}:{self.upstream.port}", folder=folder)
        process = ServerProcess(subject.name, subject.command(place), folder=folder, core=self.cores.server)
        try:
            await process.wait_until_it_listens(address, _STARTS_S)
            target = Target(subject, address, pid=process.pid, upstream=self.upstream, process=process)
            await warm_up(target)
            yield target
        finally:
            process.end()


@asynccontextmanager
async def prepared(cores: Cores) -> AsyncGenerator[Ground]:
    """Make the folder and start the upstream; this thread stays on the core of the client meanwhile.

    Raises:
        MeasurementFailed: the upstream can't be compiled or started.
    """
    _allow_many_files()
    with tempfile.TemporaryDirectory(prefix="turnkeeper-benchmark-") as name, pinned(cores.client):
        folder = Path(name)
        upstream = Address(host=_LOOPBACK, port=free_port())
        command = Command(arguments=(str(compile_fake_llama(folder)), str(upstream.port)))
        process = ServerProcess("fake-llama", command, folder=folder, core=cores.client)
        try:
            await process.wait_until_it_listens(upstream, _FAKE_STARTS_S)
            yield Ground(folder=folder, cores=cores, upstream=upstream, upstream_pid=process.pid)
        finally:
            process.end()


def _allow_many_files() -> None:
    """Raise the bound on open files as far as one may; the servers inherit it, and each stream takes two of theirs."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
