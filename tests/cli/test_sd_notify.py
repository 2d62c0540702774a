"""A service manager is told when the service answers and when it stops, as sd_notify(3) has it."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from service.cli.sd_notify import READY, notify
from tests.cli.test_serve import BOUND_S, serving

pytestmark = pytest.mark.rules("D2", "H8")


@contextmanager
def manager(address: str) -> Generator[socket.socket]:
    """Listen as a service manager does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listens:
        listens.settimeout(BOUND_S)
        listens.bind(address)
        yield listens


def test_a_service_is_ready_when_it_answers_and_says_when_it_stops(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with manager(address) as listens, serving("memory:", NOTIFY_SOCKET=address) as (child, http):
        assert listens.recv(100) == b"READY=1"
        assert http.get("/livez").status_code == 200
        child.send_signal(signal.SIGTERM)
        assert listens.recv(100) == b"STOPPING=1"
        assert child.wait(BOUND_S) == 0


def test_a_socket_without_a_file_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"turnkeeper-{uuid4().hex}"
    monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
    with manager(f"\0{name}") as listens:
        notify(READY)
        assert listens.recv(100) == b"READY=1"


@pytest.mark.parametrize("address", ["", "nowhere", "/nowhere/at/all"])
def test_a_service_goes_on_where_nobody_can_be_told(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    before = len(os.listdir("/proc/self/fd"))

    notify(READY)

    assert len(os.listdir("/proc/self/fd")) == before
