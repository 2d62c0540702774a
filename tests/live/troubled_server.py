"""A real llama-server that a test can start late, kill, freeze and start again, always on the same port."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.live.llama_program import llama_command
from tests.live.processes import free_port, wait_until_ready


class TroubledServer:
    """Use it as a context manager; it is not running at first."""

    def __init__(self, template: Path, folder: Path, *options: str) -> None:
        self._port = free_port()
        self._options = options
        self._log = folder / f"troubled-{self._port}.log"
        self.url = f"http://127.0.0.1:{self._port}"
        self.template = template
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start it with the template that it has now; it loads its model for a moment."""
        command = llama_command(self._port, self.template, *self._options)
        with self._log.open("ab") as output:
            self._child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)

    def start_and_wait(self) -> None:
        """Start it, and wait until it serves: nobody else notices that it was away."""
        self.start()
        assert self._child is not None
        wait_until_ready(self._child, f"{self.url}/health", self._log)

    def kill(self) -> None:
        """End it without a word (kill -9)."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child = None

    def terminate(self) -> None:
        """Ask it to end (SIGTERM)."""
        self._signal(signal.SIGTERM)

    def wait_until_gone(self) -> None:
        """Wait for its end, at most 20 seconds."""
        assert self._child is not None
        self._child.wait(20)
        self._child = None

    def freeze(self) -> None:
        """Stop it: connections stay open, and nothing comes."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._child is not None
        os.kill(self._child.pid, number)
