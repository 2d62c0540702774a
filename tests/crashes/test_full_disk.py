"""The real service whose store's disk is full: it says so, lives on, and stores again when there is space (S5).

The disk is full for one process: the system lets it write no byte beyond the first of any file.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from service.bootstrap import look_at_store
from service.core.ids import SessionId
from service.core.json_types import JsonObject
from tests.cases.replies import Reply, say
from tests.cases.strict_llama import StrictLlama
from tests.crashes.chain import DYING
from tests.crashes.client import BOUND_S, JSON
from tests.crashes.service_process import ServiceProcess
from tests.live.client import Client, Frame, frames_of

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.cases(25),
    pytest.mark.rules("S5"),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets another process's limits be set"),
]

PROBLEM = "application/problem+json"


@dataclass(frozen=True, slots=True)
class FullDisk:
    """A service, and whether the disk of its process is full; `client` talks to it."""

    service: ServiceProcess
    llama: StrictLlama
    client: Client

    def fill(self) -> None:
        """Let the process write nothing more."""
        self._allow(1)

    def make_space(self) -> None:
        """Let it write again."""
        import resource

        self._allow(resource.RLIM_INFINITY)

    def _allow(self, size: int) -> None:
        import resource

        _, most = resource.prlimit(self.service.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.service.pid, resource.RLIMIT_FSIZE, (size, most))


@asynccontextmanager
async def disk_for(folder: Path, *replies: Reply) -> AsyncGenerator[FullDisk]:
    async with StrictLlama(*replies) as llama:
        service = ServiceProcess(folder, program=DYING, llama_url=llama.url, poll_ms="50")
        async with service.with_nursery(), httpx.AsyncClient(timeout=BOUND_S, trust_env=False, verify=False) as http:
            await service.start()
            yield FullDisk(service, llama, Client(service.address, http))


async def fill_in_mid_answer(disk: FullDisk, session: str, hold: asyncio.Event) -> list[Frame]:
    """Run a turn, let the disk be full before its answer is whole, and give all that its stream shows."""
    frames: list[Frame] = []
    async for frame in disk.client.frames(session, {"content": "Hello"}):
        frames.append(frame)
        if frame.event == "progress":
            disk.fill()
            hold.set()
    return frames


def ends_in(records: list[JsonObject]) -> list[tuple[str, str | None]]:
    """Give outcome and kind of error of each turn."""
    ended = [record for record in records if record["type"] == "turn_finished"]
    return [(end["outcome"], end["error"]["kind"] if end.get("error") else None) for end in ended]


async def verified(disk: FullDisk, session: str) -> bool:
    """Whether the log is whole."""

    def look() -> bool:
        with look_at_store(disk.service.database_url) as audit:
            verdict = audit.verify(SessionId(session))
        return verdict is not None and verdict.fault is None

    return await asyncio.to_thread(look)


async def last_event(disk: FullDisk, path: str) -> Frame:
    """Follow something until its stream ends, and give what came last."""
    async with disk.client.http.stream("GET", f"{disk.service.address}{path}/events") as events:
        return [frame async for frame in frames_of(events)][-1]


async def test_a_full_disk_fails_the_turn_visibly_and_the_next_one_is_stored(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with disk_for(tmp_path, say("Before."), say("One two", hold=hold), say("After.")) as disk:
        session = await disk.client.session()
        await disk.client.turn(session, content="Hello")

        following = asyncio.create_task(last_event(disk, f"/sessions/{session}"))
        shown = await fill_in_mid_answer(disk, session, hold)
        told = await following
        alive = await disk.client.get("/livez")
        refusals = [
            await disk.client.post(f"/sessions/{session}/turns", {"content": "Hello"}, **JSON),
            await disk.client.post("/sessions", {}),
        ]
        before = await disk.client.records(session)
        disk.make_space()
        answer = await disk.client.post(f"/sessions/{session}/turns", {"content": "And now?"}, **JSON)

        after = await disk.client.records(session)
        assert (shown[-1].event, told.event) == ("store_error", "store_error")
        assert alive["status"] == "ok"
        for refused in refusals:
            assert refused.status_code in (500, 503), refused.text
            assert refused.headers["content-type"] == PROBLEM
        assert (answer.status_code, answer.json()["content"]) == (200, "After.")
        assert after[: len(before)] == before
        assert ends_in(after) == [("answered", None), ("failed", "store"), ("answered", None)]
        assert not disk.service.died.is_set()
        assert await verified(disk, session)


@pytest.mark.rules("S4")
async def test_a_turn_whose_end_found_no_space_goes_on_when_the_service_is_killed_and_started_again(
    tmp_path: Path,
) -> None:
    hold = asyncio.Event()
    async with disk_for(tmp_path, say("One two", hold=hold), say("After all.")) as disk:
        session = await disk.client.session()
        shown = await fill_in_mid_answer(disk, session, hold)
        turn = shown[0].data["turn"]

        await disk.service.kill()
        await disk.service.start()
        last = (await last_event(disk, f"/sessions/{session}/turns/{turn}")).data

        assert (last["type"], last["outcome"], last["content"]) == ("turn_finished", "answered", "After all.")
        assert await verified(disk, session)
