"""Commands of `turnkeeper`, each as a process of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cli.stored_logs import url_of
from tests.cli.whole_program import PATIENCE_S


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int | None
    stdout: str
    stderr: str


async def run_command(database: Path, *words: str | Path) -> Ended:
    """Run a command on a store and wait for its end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "service", *map(str, words)),
        env={**os.environ, "TURNKEEPER_DATABASE_URL": url_of(database)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE_S):
        stdout, stderr = await process.communicate()
    return Ended(process.returncode, stdout.decode(), stderr.decode())
