"""A client of one reading that does not give up: it sends it again with its key, and goes on at its cursor."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import httpx

from service.core.json_types import JsonObject
from tests.crashes.kill_points import Moments
from tests.crashes.scenarios_of_readings import ReadingScenario, options_of
from tests.live.client import frames_of


@dataclass(slots=True)
class Reading:
    """A reading over all lives of the service: `path` once an answer has named it, `frames` are the records seen."""

    mark: str
    scenario: ReadingScenario
    path: str | None = None
    frames: list[tuple[int, JsonObject]] = field(default_factory=list[tuple[int, JsonObject]])
    cancelled: JsonObject | None = None

    @property
    def id(self) -> str:
        return (self.path or "").rpartition("/")[2]

    @property
    def query(self) -> str:
        return f"{self.mark}: where is it?"

    @property
    def is_over(self) -> bool:
        """Whether its end was seen."""
        return bool(self.frames) and self.frames[-1][1]["type"] == "run_end"

    def sent(self, query: str | None = None) -> JsonObject:
        """Give what a request for it carries, as arguments of the HTTP client."""
        documents = [(name.format(self.mark), text) for name, text in self.scenario.documents.items()]
        fields = {"query": query or self.query, **options_of(self.scenario)}
        if self.scenario.upload:
            files = [("files", (name, text.encode())) for name, text in documents]
            return {"data": {name: str(value) for name, value in fields.items()}, "files": files}
        return {"json": {**fields, "documents": [{"name": name, "text": text} for name, text in documents]}}


class ReadingClient:
    """Plays one reading against one life of the service; a lost connection is a `TransportError`."""

    def __init__(self, http: httpx.AsyncClient, moments: Moments) -> None:
        self._http = http
        self._moments = moments

    async def begin(self, reading: Reading) -> None:
        """Begin it, and read its stream to the end."""
        if not reading.scenario.cancels:
            return await self._post_and_follow(reading)
        following = asyncio.create_task(self._post_and_follow(reading), name="stream of a reading")
        holding = asyncio.create_task(self._moments.reached.wait(), name="held")
        try:
            # A stream that has ended or broken comes to no hold.
            await asyncio.wait({following, holding}, return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                await self._cancel(reading)
            self._moments.release.set()
            await following
        finally:
            for task in (following, holding):
                task.cancel()
            await asyncio.gather(following, holding, return_exceptions=True)

    async def go_on(self, reading: Reading) -> None:
        """Do it all again: the same reading must come, and go on by itself."""
        answer = await self.post(reading, Prefer="respond-async")
        assert answer.status_code == 202, answer.text
        await self._accepted(reading, answer)
        if reading.scenario.cancels:
            await self._cancel(reading)
        cursor = {"Last-Event-ID": str(reading.frames[-1][0])} if reading.frames else {}
        async with self._http.stream("GET", f"{reading.path}/events", headers=cursor) as stream:
            if reading.is_over:
                assert stream.status_code == 204, stream.status_code
                return
            assert stream.status_code == 200, await stream.aread()
            await self._read(stream, reading)
        assert reading.is_over, "the stream ended before the reading"

    async def post(self, reading: Reading, query: str | None = None, **headers: str) -> httpx.Response:
        """Ask for it, with its key, and wait for the answer."""
        keyed = {"Idempotency-Key": reading.mark, **headers}
        return await self._http.post("/readings", headers=keyed, **reading.sent(query))

    async def get(self, path: str) -> JsonObject:
        """Get a resource."""
        answer = await self._http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def replayed(self, path: str) -> list[tuple[int, JsonObject]]:
        """Give all records that its stream shows from the beginning on."""
        async with self._http.stream("GET", f"{path}/events") as stream:
            return [(frame.id, frame.data) async for frame in frames_of(stream) if frame.id is not None]

    async def _post_and_follow(self, reading: Reading) -> None:
        headers = {"Idempotency-Key": reading.mark}
        async with self._http.stream("POST", "/readings", headers=headers, **reading.sent()) as answer:
            assert answer.status_code == 200, await answer.aread()
            await self._accepted(reading, answer)
            await self._read(answer, reading)

    async def _accepted(self, reading: Reading, answer: httpx.Response) -> None:
        path = answer.headers["content-location"]
        assert reading.path in (None, path), "the same key began another reading"
        reading.path = path
        await self._moments.passed("reading accepted")

    async def _cancel(self, reading: Reading) -> None:
        answer = await self._http.post(f"{reading.path}/cancel")
        assert answer.status_code in (200, 202), answer.text
        if reading.cancelled is None:
            reading.cancelled = answer.json()
        await self._moments.passed("reading cancelled")

    async def _read(self, answer: httpx.Response, reading: Reading) -> None:
        async for frame in frames_of(answer):
            if frame.id is not None:
                reading.frames.append((frame.id, frame.data))
            await self._moments.passed(f"reading shown: {frame.event}")
