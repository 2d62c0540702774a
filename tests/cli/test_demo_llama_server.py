import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from service.cli.demo.plan import Ports, demo_plan, packaged_model

pytestmark = [
    pytest.mark.rules("D2"),
    pytest.mark.live,
    pytest.mark.skipif(packaged_model() is None, reason="no prebuilt llama-server fits this platform"),
]


@pytest.fixture
def llama_server(free_port: int) -> Iterator[subprocess.Popen[str]]:
    ports = Ports(service=1, tools=2, llama=free_port)
    command = demo_plan(ports, llama_url=None, model=packaged_model(), data=Path()).commands[0]
    with subprocess.Popen(command.arguments, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def address(said: IO[str] | None) -> str:
    """Read what the server says up to where it listens."""
    assert said is not None
    # The server's own lines come from a thread of its own, and may stand on the same line as ours.
    mark = "llama-server is listening on "
    return next(line.partition(mark)[2].split()[0] for line in said if mark in line)


def props(url: str) -> dict[str, object]:
    with urllib.request.urlopen(f"{url}/props") as answer:
        return json.load(answer)


def test_it_serves_the_model_with_the_demos_slots_and_template(llama_server: subprocess.Popen[str]) -> None:
    told = props(address(llama_server.stderr))

    assert told["total_slots"] == 2
    assert "The tool found" in str(told["chat_template"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_at_once(llama_server: subprocess.Popen[str], number: signal.Signals) -> None:
    address(llama_server.stderr)

    llama_server.send_signal(number)

    assert llama_server.wait(timeout=20) == -number


def test_a_model_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "missing.gguf"
    command = [sys.executable, "-m", "service.cli.demo.llama_server", "--model", str(missing), "--port", "1"]

    ran = subprocess.run(command, capture_output=True, text=True, check=False)

    assert ran.returncode == 1
    assert f"llama-server did not start with {missing}" in ran.stderr
