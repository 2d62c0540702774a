"""A server of another kind beside the service, as a process group of its own. Above: the benchmarks' model servers."""

from __future__ import annotations

import asyncio
import socket
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

from benchmarks.overhead.failures import MeasurementFailed
from benchmarks.startup.own_service import HOST, ROOT, end
from service.cli.demo.readiness import NeverReady, wait_until_ready

_LOOK_EVERY_S = 0.05


@asynccontextmanager
async def own_program(command: Callable[[int], Sequence[str]], *, within_s: float) -> AsyncGenerator[str]:
    """Run what `command` gives for a free port; gives the address when `/health` answers, and ends it.

    Raises:
        MeasurementFailed: it never answered.
    """
    port = _free_port()
    url = f"http://{HOST}:{port}"
    arguments = command(port)
    process = await asyncio.create_subprocess_exec(
        *arguments, cwd=ROOT, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, process_group=0
    )
    try:
        try:
            await wait_until_ready(f"{url}/health", within_s=within_s, every_s=_LOOK_EVERY_S)
        except NeverReady as error:
            raise MeasurementFailed(f"{' '.join(arguments)}: {error}") from error
        yield url
    finally:
        await end(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]
