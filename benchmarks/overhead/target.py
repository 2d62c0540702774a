"""A subject that runs, as the modes see it: its process, and a way to open answers.

Above: the modes. Below: the subjects and their adapters, the answers, the processes and what one has used.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from benchmarks.overhead import usage
from benchmarks.overhead.adapters import Address, measured_request, setup_request
from benchmarks.overhead.answers import Answer, Tally
from benchmarks.overhead.failures import MeasurementFailed
from benchmarks.overhead.fake_llama import running_streams
from benchmarks.overhead.processes import ServerProcess
from benchmarks.overhead.subjects import Subject

_SETUP_S = 30
_SETTLE_S = 60
_LOOK_AGAIN_S = 0.1


class Target:
    """One running subject; `upstream` is the fake llama-server behind it, `process` what runs but for the others."""

    def __init__(
        self, subject: Subject, address: Address, *, pid: int, upstream: Address, process: ServerProcess | None = None
    ) -> None:
        self.name = subject.name
        self.is_peer = subject.is_peer
        self.is_upstream = subject.is_upstream
        self._adapter = subject.adapter
        self._address = address
        self._pid = pid
        self._upstream = upstream
        self._process = process

    @contextmanager
    def alone(self, others: Sequence[Target]) -> Generator[None]:
        """Let the others rest for the body's time, so that what they do by themselves is not measured with this one.

        A server of many packages has timers and threads, and what it has written is still on its way to the disk.
        """
        resting = [target._process for target in others if target is not self and target._process is not None]
        for process in resting:
            process.pause()
        os.sync()
        try:
            yield
        finally:
            for process in resting:
                process.go_on()

    def cpu_s(self) -> float:
        """Give the CPU seconds that its processes have used so far."""
        return usage.cpu_s(self._pid)

    def memory_kib(self) -> int:
        """Give the memory of its processes in KiB."""
        return usage.memory_kib(self._pid)

    async def open(self, prompt: str, tokens: int, tally: Tally) -> Answer:
        """Ask for an answer of so many tokens; it is read by itself from then on.

        Raises:
            MeasurementFailed: it takes no connection, or a request that comes before failed.
        """
        try:
            async with asyncio.timeout(_SETUP_S):
                saved = ""
                for setup in self._adapter.setup:
                    request = setup_request(setup, self._address, prompt=prompt, saved=saved)
                    saved = setup.saved(await self._answer_to(request))
                request = measured_request(self._adapter, self._address, prompt=prompt, saved=saved)
                answer = Answer(request, tokens, tally)
                loop = asyncio.get_running_loop()
                await loop.create_connection(lambda: answer, self._address.host, self._address.port)
                return answer
        except (OSError, ValueError, TimeoutError) as error:
            raise MeasurementFailed(f"{self.name} takes no request: {error!r}") from error

    async def upstream_streams(self) -> int:
        """Count the answers that its upstream is streaming."""
        return await running_streams(self._upstream)

    async def settle(self) -> None:
        """Wait until the upstream streams nothing more: what goes on after its reader left belongs to nobody else.

        Raises:
            MeasurementFailed: it takes too long.
        """
        await self.wait_for_streams(0, _SETTLE_S)

    async def wait_for_streams(self, count: int, within_s: float) -> None:
        """Wait until the upstream streams so many answers.

        Raises:
            MeasurementFailed: it takes too long.
        """
        seen = await self.upstream_streams()
        try:
            async with asyncio.timeout(within_s):
                while seen != count:
                    await asyncio.sleep(_LOOK_AGAIN_S)
                    seen = await self.upstream_streams()
        except TimeoutError as error:
            said = f"{self.name}: {seen} answers run at the upstream after {within_s:g} s, not {count}"
            raise MeasurementFailed(said) from error

    async def _answer_to(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(self._address.host, self._address.port)
        try:
            writer.write(request)
            return await reader.read()
        finally:
            writer.close()
