"""Many calls at once of servers that die, hang, forget and lie: each call ends, each server returns, none is left."""

from __future__ import annotations

import asyncio
import os
from random import Random

import pytest

from service.mcp_port import supervisor
from service.mcp_port.config_file import HttpServer, ServerConfig
from service.mcp_port.listed import CallFault
from service.mcp_port.servers import ServersOf
from tests.mcp_port.odd import BOUND_S, Notes, odd, text_of
from tests.mcp_port.session_server import SessionServer

pytestmark = pytest.mark.anyio

WORKERS = 6
CALLS = 40
WEIGHTS = {
    **{"echo": 20, "env": 4, "fail": 3, "refuse": 2, "noise": 3, "ask": 2, "sample": 1},
    **{"die": 2, "hang": 3, "huge": 1, "huge_without_id": 1, "deafen": 1, "rename": 1},
}


async def no_wait(_: float) -> None:
    await asyncio.sleep(0)


class Caller:
    """Calls whatever it is, and cancels some calls."""

    def __init__(self, servers: ServersOf, web: SessionServer, rng: Random) -> None:
        self._servers = servers
        self._web = web
        self._rng = rng
        self.ended = {"answered": 0, "failed": 0, "cancelled": 0}

    async def call_often(self) -> None:
        for _ in range(CALLS):
            server = self._rng.choice(("first", "second", "web"))
            if server == "web":
                self._trouble_the_web()
            tool = "which" if server == "web" else self._rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
            calling = asyncio.create_task(
                self._servers.call(server, tool, {"text": "x"}, timeout_s=0.3, traceparent=None)
            )
            if self._rng.random() < 0.2:
                for _ in range(self._rng.randrange(200)):
                    await asyncio.sleep(0)
                calling.cancel()
            try:
                async with asyncio.timeout(BOUND_S):
                    await calling
                self.ended["answered"] += 1
            except CallFault:
                self.ended["failed"] += 1
            except asyncio.CancelledError:
                self.ended["cancelled"] += 1

    def _trouble_the_web(self) -> None:
        if self._rng.random() < 0.2:
            self._web.forget()
        self._web.refuses = self._rng.choice((None, None, None, 401, 500))


@pytest.mark.timeout(120)
async def test_each_call_ends_and_each_server_comes_back_and_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "LIST_WITHIN_S", 0.3)
    rng, tasks = Random(20261201), asyncio.all_tasks()
    async with Notes() as notes, SessionServer() as web:
        address = HttpServer(url=f"{web.url}/mcp", headers={})
        configs = [odd(notes=notes, name=name) for name in ("first", "second")]
        async with ServersOf([*configs, ServerConfig(name="web", transport=address)], sleep=no_wait) as servers:
            await servers.settled(BOUND_S)
            caller = Caller(servers, web, rng)
            await asyncio.gather(*(caller.call_often() for _ in range(WORKERS)))

            web.refuses = None
            for name, tool in (("first", "echo"), ("second", "echo"), ("web", "which")):
                await _answers(servers, name, tool)
        pids = [int(line.split()[1]) for line in notes.all if line.startswith("start ")]

    assert sum(caller.ended.values()) == WORKERS * CALLS
    assert min(caller.ended.values()) > 0
    assert len(pids) > 2
    assert web.begun > 1
    assert [pid for pid in pids if _lives(pid)] == []
    assert asyncio.all_tasks() <= tasks


async def _answers(servers: ServersOf, server: str, tool: str) -> None:
    """Wait until it does."""
    async with asyncio.timeout(BOUND_S):
        while True:
            try:
                assert text_of(await servers.call(server, tool, {}, timeout_s=BOUND_S, traceparent=None))
            except CallFault:
                await asyncio.sleep(0)
            else:
                return


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
