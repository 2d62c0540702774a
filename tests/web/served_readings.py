"""The web layer over real readings: a scripted model, the memory log and real readers of documents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx

from service.adapters.documents.processes import DocumentProcesses
from service.adapters.prometheus import PrometheusMeter
from service.adapters.system import SystemClock
from service.bootstrap import Application
from service.config import Settings
from service.core.agents import AgentProfiles
from service.ports.documents import DocumentReader
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama
from tests.readings.reader_llama import AskedChunk, ReaderLlama
from tests.readings.reading_house import CHUNK_TOKENS, ReadingHouse, part, retain, update
from tests.web.serving import Frame, Served, frames_of, served_by, settings_with

QUERY = "Where is the key?"
OPTIONS = {"memory_budget": 64, "chunk_tokens": CHUNK_TOKENS}


def finds(asked: AskedChunk) -> str:
    """Take a note of each section that says KEY."""
    if "KEY" not in asked.section:
        return retain()
    return update(f"{asked.memory or ''}KEY under {asked.section.split()[1]};")


def a_house() -> ReadingHouse:
    return ReadingHouse(ReaderLlama(finds))


def text_of(*says: str) -> str:
    """A text whose chunks say these things."""
    return "".join(part(number, said) for number, said in enumerate(says, start=1))


def asked(*texts: str, **more: object) -> dict[str, object]:
    """A request as JSON."""
    documents = [{"name": f"{number}.txt", "text": text} for number, text in enumerate(texts, start=1)]
    return {"query": QUERY, "documents": documents, **OPTIONS, **more}


@asynccontextmanager
async def served_readings(
    house: ReadingHouse, *, documents: DocumentReader | None = None, settings: Settings | None = None
) -> AsyncGenerator[Served]:
    """Serve readings; sessions are there too, over a store of their own."""

    @asynccontextmanager
    async def build(_: Settings) -> AsyncGenerator[Application]:
        turns = House(ScriptedLlama()).turns
        yield Application(
            sessions=turns.sessions,
            readings=house.readings,
            documents=documents or DocumentProcesses(),
            tools=turns.tools,
            readiness=turns.readiness,
            server=turns.server_view,
            agents=AgentProfiles(),
            metrics=PrometheusMeter(),
            clock=SystemClock(),
            poll_s=2,
        )

    async with served_by(build, settings or settings_with()) as service:
        yield service


async def stream(service: Served, method: str, path: str, **sent: Any) -> list[Frame]:
    """Follow a stream to its end."""
    async with service.http.stream(method, path, **sent) as response:
        assert response.status_code == 200, await response.aread()
        return [frame async for frame in frames_of(response)]


def records_of(frames: Sequence[Frame]) -> list[Frame]:
    return [frame for frame in frames if frame.field("id") is not None]


def places_of(frames: Sequence[Frame]) -> list[str]:
    return [frame.field("id") or "" for frame in records_of(frames)]


def kinds_of(frames: Sequence[Frame]) -> list[str | None]:
    return [frame.field("event") for frame in frames]


def boundary_form(*parts: tuple[str, bytes] | bytes, boundary: str = "x", whole: bool = True) -> bytes:
    """Write a form by hand: a part is what stands behind `form-data; ` with its content, or all of it as bytes."""
    head = b"Content-Disposition: form-data; %s\r\n\r\n%s"
    written = [part if isinstance(part, bytes) else head % (part[0].encode(), part[1]) for part in parts]
    body = b"".join(b"--%s\r\n%s\r\n" % (boundary.encode(), part) for part in written)
    return body + b"--%s--\r\n" % boundary.encode() if whole else body[:-2]


def form_headers(boundary: str = "x", **more: str) -> dict[str, str]:
    return {"Content-Type": f"multipart/form-data; boundary={boundary}", **more}


def query_part(query: str = QUERY) -> tuple[str, bytes]:
    return 'name="query"', query.encode()


def file_part(content: bytes = b"A text.", filename: str = "a.txt") -> tuple[str, bytes]:
    return f'name="files"; filename="{filename}"', content


def fields(**more: object) -> Mapping[str, str]:
    """The text fields of a form."""
    return {"query": QUERY, **{name: str(value) for name, value in (OPTIONS | more).items()}}


def problem(response: httpx.Response) -> tuple[int, str, list[str]]:
    """Give the status, the code and the fields that a refusal names."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    told = response.json()
    return response.status_code, told["code"], [fault["field"] for fault in told.get("errors", [])]


class Pausing:
    """Lets the model write its answers piece by piece: each piece waits until it is let go."""

    def __init__(self, house: ReadingHouse) -> None:
        self.house = house
        self.arrived = asyncio.Event()
        self.go_on = asyncio.Event()
        self._stops_at = 0

    def stop_at(self, call: int) -> None:
        self._stops_at = call
        self.arrived.clear()
        self.go_on.clear()
        self.house.llama.before_each = self._before

    def _before(self) -> asyncio.Event | None:
        if self.house.llama.calls != self._stops_at:
            return None
        self.arrived.set()
        return self.go_on


async def posted(http: httpx.AsyncClient, *parts: tuple[str, bytes] | bytes) -> httpx.Response:
    return await http.post("/readings", content=boundary_form(*parts), headers=form_headers())
