"""A real llama-server that a test can start late, kill, freeze and start again, always on the same port."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from service.cli.demo.plan import packaged_model
from tests.live.processes import free_port


class TroubledServer:
    """Use it as a context manager; it is not running at first."""

    def __init__(self, template: Path, folder: Path, *options: str) -> None:
        model = packaged_model()
        if model is None:
            pytest.skip("no llama-server for this platform on the package index")
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._command = [sys.executable, "-m", "service.cli.demo.llama_server", "--model", str(model)]
        self._command += ["--port", str(port), "--chat-template-file", str(template), *options]
        self._log = folder / f"troubled-{port}.log"
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start it; it loads its model for a moment."""
        with self._log.open("ab") as output:
            self._child = subprocess.Popen(self._command, stdout=output, stderr=subprocess.STDOUT)

    def kill(self) -> None:
        """End it without a word (kill -9)."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
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
