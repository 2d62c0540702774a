"""The real service, from its settings to its socket, between a fake model server and a fake tool port."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from service.bootstrap import build
from service.config.settings import load_settings
from service.core.json_types import JsonObject
from service.ports.api_keys import ApiKeys
from tests.cases.fake_port import FakePort
from tests.cases.strict_llama import StrictLlama
from tests.web.serving import Frame, Served, frames_of, served_by

T = TypeVar("T")

_AT_A_TIME = 16

JSON = {"Accept": "application/json"}
AT_ONCE = {"Prefer": "respond-async"}


@dataclass(frozen=True)
class WholeService:
    """What a client does with the service."""

    served: Served

    async def session(self, **asked: object) -> str:
        """Make a session and give its path."""
        created = await self.served.http.post("/sessions", json=asked)
        assert created.status_code == 201, created.text
        return created.headers["location"]

    async def turn(self, session: str, content: str = "Hello", **asked: object) -> JsonObject:
        """Run a turn to its end."""
        body = {"content": content, **asked}
        answer = await self.served.http.post(f"{session}/turns", json=body, headers=JSON)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def start(self, session: str, content: str = "Hello", **asked: object) -> str:
        """Start a turn and give its path."""
        body = {"content": content, **asked}
        answer = await self.served.http.post(f"{session}/turns", json=body, headers=AT_ONCE)
        assert answer.status_code == 202, answer.text
        return answer.headers["location"]

    async def finish(self, turn: str) -> JsonObject:
        """Follow a turn to its end, and give it."""
        async with self.served.http.stream("GET", f"{turn}/events") as response:
            async for _ in frames_of(response):
                pass
        found: JsonObject = (await self.served.http.get(turn)).json()
        assert found["state"] == "finished"
        return found

    async def cancel(self, turn: str) -> JsonObject:
        """Cancel a turn."""
        answer = await self.served.http.post(f"{turn}/cancel")
        assert answer.status_code == 202, answer.text
        return answer.json()

    async def frames(self, session: str, content: str = "Hello") -> list[Frame]:
        """Run a turn and give what its stream shows."""
        async with self.served.http.stream("POST", f"{session}/turns", json={"content": content}) as response:
            assert response.status_code == 200
            return [frame async for frame in frames_of(response)]

    async def records(self, session: str, *types: str) -> list[JsonObject]:
        """Export the log; with types, only the records of these."""
        answer = await self.served.http.get(f"{session}/records", headers={"Accept": "application/x-ndjson"})
        found: list[JsonObject] = [json.loads(line) for line in answer.content.split(b"\n") if line]
        return [record for record in found if not types or record["type"] in types]

    async def messages(self, session: str) -> list[JsonObject]:
        """Give what the model would be sent now."""
        return (await self.served.http.get(f"{session}/messages")).json()["messages"]


@asynccontextmanager
async def service_over(
    store: Path, llama: StrictLlama, port: FakePort | None = None, keys: ApiKeys | None = None, **settings: object
) -> AsyncGenerator[WholeService]:
    """Start the service over a store in this folder; at the end it stops as a real one would."""
    # The settings read files, which the command line does before there is a loop.
    loaded = await asyncio.to_thread(
        load_settings,
        llama_url=llama.url,
        tool_port_url=port.url if port is not None else None,
        database_url=f"sqlite:///{(store / 'store.db').as_posix()}",
        **{"poll_ms": 50, **settings},
    )
    async with served_by(build, loaded, keys) as served:
        yield WholeService(served)


Start = Callable[..., Awaitable[WholeService]]


async def side_by_side(runs: Mapping[str, Coroutine[Any, Any, T]]) -> dict[str, asyncio.Task[T]]:
    """Run them at once, a few at a time, and give them when all have ended: each tells its own result or error."""
    few = asyncio.Semaphore(_AT_A_TIME)

    async def one(run: Coroutine[Any, Any, T]) -> T:
        async with few:
            return await run

    tasks = {name: asyncio.create_task(one(run), name=name) for name, run in runs.items()}
    await asyncio.wait(tasks.values())
    return tasks
