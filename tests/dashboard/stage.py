"""What recordings are made with: a service that is asked, and the bytes of its streams."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

from service.cli.demo.plan import packaged_model
from service.core.json_types import JsonObject

FOLDER = Path(__file__).parent / "recordings"
BEYOND = 2**53 - 1
MOST_BYTES = 60 * 1024


class Stage:
    """One service, and what is asked of it."""

    def __init__(self, address: str, http: httpx.AsyncClient) -> None:
        self.address = address
        self.http = http

    async def ask(self, method: str, path: str, body: JsonObject | None = None, **headers: str) -> JsonObject:
        """Ask for JSON."""
        wanted = {"Accept": "application/json", **headers}
        answer = await self.http.request(method, f"{self.address}/{path}", json=body, headers=wanted)
        assert answer.is_success, answer.text
        return answer.json()

    async def session(self, **asked: object) -> str:
        """Make a session."""
        return (await self.ask("POST", "sessions", asked))["id"]

    async def turn(self, session: str, content: str, **asked: object) -> JsonObject:
        """Run a turn to its end, or until it waits for people."""
        return await self.ask("POST", f"sessions/{session}/turns", {"content": content, **asked})

    async def begin(self, session: str, content: str, **asked: object) -> str:
        """Begin a turn."""
        body = {"content": content, **asked}
        return (await self.ask("POST", f"sessions/{session}/turns", body, Prefer="respond-async"))["id"]

    async def decide(self, waiting: JsonObject, *, approved: bool, **more: object) -> None:
        """Decide on all that a turn waits for."""
        for call in waiting["pending"]:
            decision = {"call": call["call"], "digest": call["digest"], "approved": approved, **more}
            path = f"sessions/{call['session']}/turns/{call['turn']}/decisions"
            await self.ask("POST", path, {"decisions": [decision]})

    async def last_pos(self) -> int:
        """Give the `pos` of the last record of the store: a stream from beyond it begins by telling."""
        tape = Tape()
        await tape.take(self, f"events?after={BEYOND}", until=lambda told: b"last_pos" in told)
        found = re.search(rb'"last_pos":(\d+)', tape.bytes)
        assert found is not None
        return int(found[1])

    async def resource(self, path: str, is_there: Callable[[JsonObject], bool]) -> JsonObject:
        """Ask again and again until a resource is as wanted, a bounded number of times."""
        for _ in range(600):
            if is_there(found := await self.ask("GET", path)):
                return found
            await asyncio.sleep(0.1)
        raise AssertionError(f"{path} never became as wanted")


class Tape:
    """The bytes of streams, one behind the other."""

    def __init__(self) -> None:
        self.bytes = b""
        self._moved = asyncio.Event()

    async def take(self, stage: Stage, path: str, *, until: Callable[[bytes], bool], **headers: str) -> None:
        """Read a stream until what it gave is enough, or it ends; what is left of a frame is cut off."""
        told = b""
        async with stage.http.stream("GET", f"{stage.address}/{path}", headers=headers) as answer:
            assert answer.status_code == 200, await answer.aread()
            before = self.bytes
            async for chunk in answer.aiter_bytes():
                told += chunk
                self.bytes = before + told
                self._moved.set()
                if until(told):
                    break
        self.bytes = before + told[: told.rfind(b"\n\n") + 2]

    async def wait_for(self, words: bytes, times: int = 1) -> None:
        """Wait until a text has come."""
        while self.bytes.count(words) < times:
            self._moved.clear()
            await self._moved.wait()

    @property
    def last_id(self) -> bytes:
        """Give the last id that came."""
        return re.findall(rb"^id: (\d+)$", self.bytes, re.MULTILINE)[-1]


Act = Callable[[Tape], Awaitable[object]]


def has_id(pos: int) -> Callable[[bytes], bool]:
    """Say whether a record has come, and its frame is whole."""
    wanted = re.compile(rb"^id: %d\n[^\n]*\n[^\n]*\n\n" % pos, re.MULTILINE)
    return lambda told: wanted.search(told) is not None


def keep(name: str, live: bytes, replay: bytes) -> None:
    """Write one recording; of the model's path, which readings tell, its name is left."""
    model = packaged_model()
    assert model is not None  # it was started
    for kind, whole in (("live", live), ("replay", replay)):
        told = whole.replace(str(model).encode(), model.name.encode())
        assert len(told) <= MOST_BYTES, f"{name}.{kind} has {len(told)} bytes"
        (FOLDER / f"{name}.{kind}.sse").write_bytes(told)


async def tape(stage: Stage, name: str, path: str, act: Act, *, after: int | None = None) -> None:
    """Record a stream while something is done, and its replay: up to the last record that there is then."""
    live, end = Tape(), asyncio.get_running_loop().create_future()
    query = f"?after={after}" if after else ""
    reading = asyncio.create_task(
        live.take(stage, path + query, until=lambda told: end.done() and has_id(end.result())(told))
    )
    await live.wait_for(b"retry")
    await act(live)
    end.set_result(await stage.last_pos())
    if not has_id(end.result())(live.bytes):
        await reading
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    again = Tape()
    await again.take(stage, f"{path}?after={after or 0}", until=has_id(end.result()))
    keep(name, live.bytes[: live.bytes.rfind(b"\n\n") + 2], again.bytes)
