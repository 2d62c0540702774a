"""`turnkeeper serve` as a process of its own, and a client of it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from service.core.json_types import JsonObject
from tests.web.serving import frames_of

# For the start and the end of a program on a machine that is busy with other things.
PATIENCE_S = 20
JSON = {"Accept": "application/json"}
AT_ONCE = {"Prefer": "respond-async"}


@dataclass
class Program:
    """The process, and what a client does with it."""

    process: asyncio.subprocess.Process
    http: httpx.AsyncClient
    said: list[str]
    """Lines on standard error from before it listened."""

    async def session(self) -> str:
        """Make a session and give its path."""
        created = await self.http.post("/sessions", json={})
        assert created.status_code == 201, created.text
        return created.headers["location"]

    async def start(self, session: str, content: str, **asked: object) -> str:
        """Start a turn and give its path."""
        answer = await self.http.post(f"{session}/turns", json={"content": content, **asked}, headers=AT_ONCE)
        assert answer.status_code == 202, answer.text
        return answer.headers["location"]

    async def finish(self, turn: str) -> JsonObject:
        """Follow a turn to its end and give it."""
        async with self.http.stream("GET", f"{turn}/events") as response:
            async for _ in frames_of(response):
                pass
        return (await self.http.get(turn)).json()

    async def records(self, session: str) -> list[JsonObject]:
        """Give a log of no more than one page."""
        return (await self.http.get(f"{session}/records?limit=200")).json()["items"]

    async def end(self, within_s: float) -> int:
        """Wait for the end of the process and give its exit code."""
        async with asyncio.timeout(within_s):
            return await self.process.wait()


@asynccontextmanager
async def running(
    folder: Path, llama_url: str, port_url: str | None = None, **settings: str
) -> AsyncGenerator[Program]:
    """Run the program over a store in this folder."""
    given = {
        "LLAMA_URL": llama_url,
        "DATABASE_URL": f"sqlite:///{(folder / 'store.db').as_posix()}",
        "POLL_MS": "50",
        "PORT": "0",
        **({"TOOL_PORT_URL": port_url} if port_url is not None else {}),
        **settings,
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "service", "serve"),
        env={**os.environ, **{f"TURNKEEPER_{name}": value for name, value in given.items()}},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        said = await _until_it_listens(process)
        address = said.pop().split()[3].rstrip(",")
        unbounded = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx.AsyncClient(base_url=address, timeout=PATIENCE_S, limits=unbounded, trust_env=False) as http:
            yield Program(process, http, said)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def _until_it_listens(process: asyncio.subprocess.Process) -> list[str]:
    assert process.stderr is not None
    said: list[str] = []
    async with asyncio.timeout(PATIENCE_S):
        # A start that goes on with turns may log something before.
        while not (said and said[-1].startswith("turnkeeper ")):
            said.append((await process.stderr.readline()).decode().strip())
            assert said[-1], f"the program ended before it listened: {said}"
    return said
