"""The programs of a measurement, as children that end with it: a llama-server with the demo's model, the service."""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.reading.failures import BenchmarkFailed
from service.cli.demo.children import Children
from service.cli.demo.plan import HOST, Command, packaged_model
from service.cli.demo.readiness import NeverReady, wait_until_ready

_READY_WITHIN_S = 120
# Said in full, since not only this word starts a measurement.
_INSTEAD = "python -m benchmarks.reading.obedient --llama-url takes one that runs"
_TETHERED = (sys.executable, "-m", "service.cli.demo.tether")


@asynccontextmanager
async def own_llama_server(logs: Path, *, context: int, threads: int | None) -> AsyncGenerator[str]:
    """Run a llama-server of one slot with the demo's model; gives its address.

    Raises:
        BenchmarkFailed: it isn't installed, or didn't start.
    """
    model = packaged_model()
    if model is None:
        raise BenchmarkFailed(f"the demo's llama-server is not installed; {_INSTEAD}")
    port = _free_port()
    # No memory for prompts that the slot holds no more: else one reader would find those of its round before.
    options = ["--ctx-size", str(context), "--parallel", "1", "--cache-ram", "0"]
    options += ["--threads", str(threads)] if threads else []
    arguments = (sys.executable, "-m", "service.cli.demo.llama_server", "--model", str(model), "--port", str(port))
    async with _running(Command(name="llama-server", arguments=(*arguments, *options)), logs, port, "/health") as url:
        yield url


@asynccontextmanager
async def own_service(logs: Path, *, llama_url: str) -> AsyncGenerator[str]:
    """Run the service before a llama-server, with its log in memory; gives its address.

    Raises:
        BenchmarkFailed: it didn't start.
    """
    port = _free_port()
    command = Command(
        name="the service",
        arguments=(*_TETHERED, "service", "serve", "--host", HOST, "--port", str(port)),
        environment={
            "TURNKEEPER_LLAMA_URL": llama_url,
            "TURNKEEPER_DATABASE_URL": "memory:",
            "TURNKEEPER_DRAIN_S": "1",
        },
    )
    async with _running(command, logs, port, "/readyz") as url:
        yield url


@asynccontextmanager
async def _running(command: Command, logs: Path, port: int, ready: str) -> AsyncGenerator[str]:
    url = f"http://{HOST}:{port}"
    async with Children(logs) as children:
        child = await children.start(command)
        try:
            await wait_until_ready(f"{url}{ready}", within_s=_READY_WITHIN_S)
        except NeverReady as error:
            raise BenchmarkFailed(f"{error}; the end of the log of {command.name}:\n{child.last_lines()}") from error
        yield url


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]
