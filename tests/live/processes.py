"""Real programs as children of a test: a llama-server with the small model, the example port, the service."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.live.llama_program import llama_command

TEMPLATES = Path(__file__).parent / "templates"
DEMO = Path(__file__).parents[2] / "service" / "cli" / "demo"

PYTHON = (sys.executable, "-m")

# How long a child may take to answer for the first time, in seconds; loading the model takes about one.
START_S = 60


def free_port() -> int:
    """Find a TCP port of loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running(
    command: list[str], ready_url: str, log: Path, environment: dict[str, str]
) -> Generator[subprocess.Popen[bytes]]:
    """Run a program until the body is through; the test fails with its log when it is never ready."""
    with log.open("ab") as output:
        child = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
        )
        try:
            wait_until_ready(child, ready_url, log)
            yield child
        finally:
            child.terminate()
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def wait_until_ready(child: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Wait for a 200 of this address; the test fails with the log when it never comes."""
    transport = httpx.HTTPTransport(retries=0)
    with httpx.Client(transport=transport, trust_env=False, timeout=START_S) as client:
        for _ in range(START_S * 20):
            if child.poll() is not None:
                pytest.fail(f"{child.args} ended with {child.returncode}:\n{log.read_text()[-2000:]}")
            try:
                if client.get(url).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            # A child's first answer can't be waited for by an event: it is asked again, a bounded number of times.
            try:
                child.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
    pytest.fail(f"{child.args} was not ready at {url}:\n{log.read_text()[-2000:]}")


@contextmanager
def llama_server(
    template: Path, folder: Path, *, context: int = 4096, parallel: int = 2, port: int | None = None
) -> Generator[str]:
    """Run a llama-server with the small model, at `port` or a free one; give its address."""
    port = port or free_port()
    address = f"http://127.0.0.1:{port}"
    command = llama_command(port, template, "--parallel", str(parallel), "--ctx-size", str(context))
    with running(command, f"{address}/health", folder / f"llama-{port}.log", {}):
        yield address


@contextmanager
def example_port(folder: Path) -> Generator[str]:
    """Run the example tool port; give its address."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with running([*PYTHON, "service.example_port", "--port", str(port)], f"{address}/tools", folder / "port.log", {}):
        yield address


@contextmanager
def service(
    llama_url: str, tool_port_url: str, folder: Path, ready: str = "/readyz", **settings: str
) -> Generator[str]:
    """Run the service; give its address. `ready` is what must answer 200 before it counts as started."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command, environment = service_command(port, llama_url, tool_port_url, folder, **settings)
    with running(command, f"{address}{ready}", folder / f"{port}.log", environment):
        yield address


def service_command(
    port: int, llama_url: str, tool_port_url: str, folder: Path, **settings: str
) -> tuple[list[str], dict[str, str]]:
    """Give the command of a service, and what has to be in its environment."""
    environment = {
        "TURNKEEPER_LLAMA_URL": llama_url,
        "TURNKEEPER_TOOL_PORT_URL": tool_port_url,
        "TURNKEEPER_DATABASE_URL": f"sqlite:///{(folder / f'turnkeeper-{port}.db').as_posix()}",
        "TURNKEEPER_DRAIN_S": "1",
        **{f"TURNKEEPER_{name.upper()}": value for name, value in settings.items()},
    }
    return [*PYTHON, "service", "serve", "--port", str(port)], environment
