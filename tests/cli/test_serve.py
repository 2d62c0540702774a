"""The real server process: it starts, tells its streams that it stops, and ends (H8, S2, D2)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

BOUND_S = 30


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def serving(database: str, **settings: str) -> Generator[tuple[subprocess.Popen[str], httpx.Client]]:
    port = free_port()
    environment = {**os.environ, **settings, "TURNKEEPER_DATABASE_URL": database}
    # Nothing listens there: the service must do without llama-server.
    environment["TURNKEEPER_LLAMA_URL"] = f"http://127.0.0.1:{free_port()}"
    child = subprocess.Popen(
        [sys.executable, "-m", "service", "serve", "--port", str(port)],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stderr is not None
        while not (line := child.stderr.readline()).startswith("turnkeeper "):
            assert line, "the program ended before it listened"
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=BOUND_S, trust_env=False) as http:
            yield child, http
    finally:
        child.kill()
        child.communicate()


@pytest.mark.rules("H8")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_open_streams_get_a_last_word_and_the_process_ends_with_code_zero(tmp_path: Path, number: int) -> None:
    with serving(f"sqlite:///{tmp_path / 'store.db'}", TURNKEEPER_DRAIN_S="1") as (child, http):
        session = http.post("/sessions", json={}).json()["id"]
        with http.stream("GET", f"/sessions/{session}/events") as stream:
            lines = stream.iter_lines()
            for line in lines:
                if line == "event: session_created":
                    break
            child.send_signal(number)
            rest = list(lines)
        assert child.wait(BOUND_S) == 0

    assert "event: shutting_down" in rest
    assert "retry: 5000" in rest


@pytest.mark.rules("S2", "D2")
def test_a_second_process_on_the_same_store_stops_with_one_line(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'store.db'}"
    with serving(database):
        second = subprocess.run(
            [sys.executable, "-m", "service", "serve", "--port", str(free_port()), "--database-url", database],
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
        )

    said = [line for line in second.stderr.splitlines() if line]
    assert second.returncode == 1
    assert len(said) == 1
    assert "in use by another process" in said[0]


@pytest.mark.rules("G1", "D2")
def test_a_wrong_agents_file_stops_the_start_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "agents.toml").write_text('default = "nobody"\n')
    ended = subprocess.run(
        [sys.executable, "-m", "service", "serve", "--port", str(free_port()), "--database-url", "memory:"],
        env={**os.environ, "TURNKEEPER_AGENTS_FILE": str(tmp_path / "agents.toml")},
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )

    assert ended.returncode == 2
    assert "default names 'nobody'" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.rules("S2", "S4")
def test_what_was_stored_is_there_after_a_restart(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'store.db'}"
    with serving(database) as (child, http):
        session = http.post("/sessions", json={"title": "kept"}).json()
        child.send_signal(signal.SIGTERM)
        child.wait(BOUND_S)
    with serving(database) as (_, http):
        again = http.get(f"/sessions/{session['id']}").json()

    assert again == session


@pytest.mark.rules("H2", "L7")
def test_without_llama_server_a_turn_is_accepted_waits_and_fails_in_words() -> None:
    with serving("memory:", TURNKEEPER_LOAD_WAIT_MS="200", TURNKEEPER_POLL_MS="50") as (_, http):
        session = http.post("/sessions", json={}).json()["id"]
        answer = http.post(
            f"/sessions/{session}/turns", json={"content": "Hello"}, headers={"Accept": "application/json"}
        )

    turn = answer.json()
    assert (answer.status_code, turn["outcome"], turn["error"]["kind"]) == (200, "failed", "load_timeout")
