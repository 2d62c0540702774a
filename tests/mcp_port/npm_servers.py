"""Servers from npm, installed once beside this Python and kept between runs; their tests are skipped without npm."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from tests.proxy.programs import program

FOLDER = Path(sys.prefix) / "mcp-servers"
SERVERS = {
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
    "@modelcontextprotocol/server-memory": "2026.8.31",
}
BOUND_S = 300


def npm_server(name: str) -> tuple[str, str]:
    """Give the command of a server: node and its program."""
    node, npm = program("node", "nodejs"), program("npm", "npm")
    package = FOLDER / "node_modules" / name
    with FileLock(f"{FOLDER}.lock", timeout=BOUND_S):
        if not _is_there(package, SERVERS[name]):
            _install(npm)
    (entry,) = json.loads((package / "package.json").read_text(encoding="utf-8"))["bin"].values()
    return node, str(package / entry)


def _is_there(package: Path, version: str) -> bool:
    described = package / "package.json"
    return described.is_file() and json.loads(described.read_text(encoding="utf-8"))["version"] == version


def _install(npm: str) -> None:
    wanted = [f"{name}@{version}" for name, version in SERVERS.items()]
    options = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(FOLDER)]
    ended = subprocess.run(
        [npm, "install", *options, *wanted], capture_output=True, text=True, timeout=BOUND_S, check=False
    )
    if ended.returncode:
        pytest.fail(f"npm could not install {wanted}: {ended.stderr[-500:]}")
