"""The service as a process that a test can kill and start again, always on the same port and the same store."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.live.processes import free_port, running, service_command


class KilledService:
    """Use it as a context manager; it runs from the beginning."""

    def __init__(self, llama_url: str, tool_port_url: str, folder: Path, **settings: str) -> None:
        self._port = free_port()
        self._folder = folder
        self.address = f"http://127.0.0.1:{self._port}"
        self._command, self._environment = service_command(self._port, llama_url, tool_port_url, folder, **settings)
        self._life = ExitStack()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._life.close()

    def start(self) -> None:
        """Start it, and wait until it serves."""
        log = self._folder / f"killed-{self._port}.log"
        self._child = self._life.enter_context(running(self._command, f"{self.address}/readyz", log, self._environment))

    def kill(self) -> None:
        """End it without a word (kill -9)."""
        self._child.kill()
        self._child.wait()
        self._life.close()
