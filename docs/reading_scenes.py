"""Readings that are run for the page of events, as `event_scenes` does it with turns."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from docs.event_scenes import Frames, Scene, StillClock, frames_of
from service.adapters.log_memory import MemoryLog
from service.core.completion_events import Completion, CompletionDelta, ContentText
from service.core.completion_request import CompletionRequest
from service.core.errors import StoreFailure
from service.core.ids import LOCAL_OWNER
from service.core.reading.options import ExitMode
from service.ports import StoredReadingRecord, Take
from tests.fakes.llama import GONE
from tests.readings.reader_llama import AskedChunk, ReaderLlama, Says
from tests.readings.reading_house import ReadingHouse, document, retain, update

QUERY = "Where is the key?"
LETTER = document("nothing", "the key", name="letter.txt")
_BEYOND = 1_000
_LONG = "The key is in the drawer of the desk by the window. " * 9


class BreakableReadings(MemoryLog):
    """A store that can stop to take anything."""

    is_broken = False

    async def append_to_reading(self, *of: Any, **more: Any) -> Sequence[StoredReadingRecord]:
        """Append, as long as it works."""
        if self.is_broken:
            raise StoreFailure("the disk is full")
        return await super().append_to_reading(*of, **more)


def _house(llama: ReaderLlama, **other: Any) -> ReadingHouse:
    return ReadingHouse(llama, clock=StillClock(), **other)


def finds(asked: AskedChunk) -> Says:
    """Read as a model does that finds the key in the second part."""
    return update("The key is in the drawer.") if "the key" in asked.section else retain()


async def _posted(house: ReadingHouse, **asked: Any) -> Frames:
    reading = await house.begin(LETTER, query=QUERY, **asked)
    return await frames_of(await house.readings.follow(reading, LOCAL_OWNER, after_pos=None, live=True))


async def read() -> Frames:
    """A reading that finds its answer."""
    return await _posted(_house(ReaderLlama(finds, answers=lambda _: "In the drawer.")))


async def measured() -> Frames:
    """A reading that stops when its answer stays the same."""

    def drafts(_: AskedChunk) -> Says:
        return json.dumps({"update": True, "memory": "It is in the drawer.", "exit": False, "answer": "In the drawer."})

    llama = ReaderLlama(drafts, answers=lambda _: "In the drawer.", sure=lambda _: 0.999)
    return await _posted(_house(llama), exit=ExitMode.MEASURED)


async def too_long() -> Frames:
    """A model that wants to remember too much."""
    return await _posted(_house(ReaderLlama(lambda _: update(_LONG))), memory_budget=64)


async def no_json() -> Frames:
    """A model that does not write what it is asked for."""
    return await _posted(_house(ReaderLlama(lambda _: "I can't say.")))


async def waited() -> Frames:
    """A model server that is not there yet."""
    llama = ReaderLlama(finds)
    llama.away = GONE
    house = _house(llama)
    reading = await house.begin(LETTER, query=QUERY)
    seen = await frames_of(
        await house.readings.follow(reading, LOCAL_OWNER, after_pos=None, live=True), until="waiting"
    )
    llama.away = None
    await house.finish(reading)
    return seen


class _Hesitant(ReaderLlama):
    """Stops in the middle of each reply until it is let go."""

    def __init__(self) -> None:
        super().__init__(finds)
        self.let_go = asyncio.Event()
        self.stops = asyncio.Event()

    async def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        """Play a reply."""
        async for item in super().stream(request, take):
            yield item
            if not isinstance(item, Completion) and isinstance(item[0], ContentText):
                self.stops.set()
                await self.let_go.wait()


async def joined() -> Frames:
    """A client that comes in the middle of a reply."""
    llama = _Hesitant()
    house = _house(llama)
    reading = await house.begin(LETTER, query=QUERY)
    await llama.stops.wait()
    seen = await frames_of(await house.readings.follow(reading, LOCAL_OWNER, after_pos=None), until="partial")
    llama.let_go.set()
    await house.finish(reading)
    return seen


class _Holding:
    """Holds a model's replies back until they are let go; `held` says that one is."""

    def __init__(self, *, from_call: int = 1) -> None:
        self.let_go = asyncio.Event()
        self.held = asyncio.Event()
        self._calls_left = from_call

    def __call__(self) -> asyncio.Event | None:
        self._calls_left -= 1
        if self._calls_left > 0:
            return None
        self.held.set()
        return self.let_go


async def queued() -> Frames:
    """A reading that comes while another one takes all places."""
    holding = _Holding()
    house = _house(ReaderLlama(finds, before_each=holding))
    first = await house.begin(LETTER, query=QUERY)
    await holding.held.wait()
    second = await house.begin(LETTER, query=QUERY)
    seen = await frames_of(await house.readings.follow(second, LOCAL_OWNER, after_pos=None, live=True), until="queued")
    holding.let_go.set()
    await house.finish(first)
    await house.finish(second)
    return seen


async def beyond() -> Frames:
    """A cursor of another store."""
    holding = _Holding()
    house = _house(ReaderLlama(finds, before_each=holding))
    reading = await house.begin(LETTER, query=QUERY)
    await holding.held.wait()
    seen = await frames_of(await house.readings.follow(reading, LOCAL_OWNER, after_pos=_BEYOND), until="resync")
    holding.let_go.set()
    await house.finish(reading)
    return seen


async def stopped() -> Frames:
    """A service that stops while it reads."""
    holding = _Holding(from_call=2)
    house = _house(ReaderLlama(finds, before_each=holding))
    reading = await house.begin(LETTER, query=QUERY)
    await holding.held.wait()
    following = asyncio.create_task(frames_of(await house.readings.follow(reading, LOCAL_OWNER, after_pos=None)))
    await asyncio.sleep(0)
    await house.readings.shut_down()
    return await following


async def disk_full() -> Frames:
    """A store that takes nothing any more."""
    holding = _Holding()
    house = _house(ReaderLlama(finds, before_each=holding), log=(log := BreakableReadings()))
    reading = await house.begin(LETTER, query=QUERY)
    await holding.held.wait()
    following = await house.readings.follow(reading, LOCAL_OWNER, after_pos=None)
    log.is_broken = True
    holding.let_go.set()
    return await frames_of(following)


READING_SCENES: tuple[Scene, ...] = (
    read,
    measured,
    too_long,
    no_json,
    waited,
    queued,
    joined,
    beyond,
    stopped,
    disk_full,
)
