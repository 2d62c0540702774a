"""What is an extra and is not installed is named in one line, and nothing has been done by then (D2)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BOUND_S = 60


_NOT_FOUND = """\
import sys

class NotFound:
    def find_spec(self, name, path=None, target=None):
        if name in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, NotFound())
"""


def _as_if_not_installed(folder: Path, *missing: str) -> None:
    """Have a Python whose path begins with this folder not find these modules."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_NOT_FOUND.format(missing=missing), encoding="utf-8")


@pytest.mark.rules("D2")
def test_traces_without_their_packages_stop_the_start_before_a_store_is_made(tmp_path: Path) -> None:
    _as_if_not_installed(tmp_path / "missing", "opentelemetry.sdk", "opentelemetry.exporter", "requests")
    store = tmp_path / "store.db"
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path / "missing"),
        "TURNKEEPER_DATABASE_URL": f"sqlite:///{store.as_posix()}",
        "TURNKEEPER_TRACES_URL": "http://127.0.0.1:4318",
    }

    ended = subprocess.run(
        [sys.executable, "-m", "service", "serve", "--port", "0"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )

    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line == (
        "turnkeeper: traces_url is set, and the packages for traces are not installed: pip install 'turnkeeper[traces]'"
    )
    assert not store.exists()


@pytest.mark.rules("D2")
@pytest.mark.parametrize("words", [("mcp-port", "--config", "mcp.json"), ("demo", "--mcp", "mcp.json")])
def test_without_the_sdk_the_commands_of_mcp_say_what_to_install(words: tuple[str, ...], tmp_path: Path) -> None:
    _as_if_not_installed(tmp_path / "missing", "mcp", "mcp_types")

    ended = subprocess.run(
        [sys.executable, "-m", "service", *words],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "missing")},
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        "turnkeeper: mcp-port needs packages that are not installed: pip install 'turnkeeper[mcp]'\n"
    )
