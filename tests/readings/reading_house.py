"""Readings without their edges: the real runner over a scripted model and the memory log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from service.access.gate import Gate
from service.access.health_watch import HealthWatch
from service.access.model_server import ModelServer
from service.access.presence import ServerPresence
from service.access.untraced import Untraced
from service.adapters.log_memory import MemoryLog
from service.codec import decode_reading_record
from service.core.ids import LOCAL_OWNER, ReadingId
from service.core.owner_bounds import OwnerBounds
from service.core.reading.options import ExitMode, ReadingOptions
from service.core.reading.records import ReadingRecord
from service.core.trace_context import TraceContext
from service.ports import Meter, ReadingLog, Tracer
from service.ports.documents import DocumentText
from service.readings.assembly import assemble_readings
from service.readings.requests import ReadingAsked, ReadingView
from tests.fakes.clock import CountingIds, SteppingClock
from tests.fakes.house import ListMeter
from tests.readings.reader_llama import ReaderLlama

BOUND_S = 20.0
CHUNK_TOKENS = 128
_WORDS_IN_CHUNK = 112


def part(number: int, says: str = "") -> str:
    """Give a paragraph that makes a chunk of its own with `CHUNK_TOKENS`; it says something, and goes on in words."""
    head = f"Part {number} {says}".split()
    filler = [f"w{number:03}x{place:03}" for place in range(_WORDS_IN_CHUNK - len(head))]
    return " ".join([*head, *filler]) + ".\n\n"


def document(*says: str, name: str = "book.txt") -> DocumentText:
    """Give a document whose chunks say these things, in order."""
    text = "".join(part(number, said) for number, said in enumerate(says, start=1))
    return DocumentText(name=name, media_type="text/plain", text=text)


def update(memory: str, *, exit: bool = False) -> str:
    """What a model writes that found something."""
    return json.dumps({"update": True, "memory": memory, "exit": exit})


def retain(*, exit: bool = False) -> str:
    """What a model writes that found nothing."""
    return json.dumps({"update": False, "exit": exit})


class ReadingHouse:
    """Readings over a scripted model; a second house over the same log is the service after a restart."""

    def __init__(
        self,
        llama: ReaderLlama,
        *,
        log: ReadingLog | None = None,
        ids: CountingIds | None = None,
        clock: SteppingClock | None = None,
        bounds: OwnerBounds | None = None,
        meter: Meter | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self.llama = llama
        self.log: ReadingLog = log or MemoryLog()
        self.ids = ids or CountingIds()
        self.clock = clock or SteppingClock()
        self.gate = Gate(llama.slots_number)
        server = ModelServer(llama, self.gate, self.clock, slots=None)
        health = HealthWatch(llama, self.clock, poll_ms=2000)
        self.readings = assemble_readings(
            log=self.log,
            llama=llama,
            clock=self.clock,
            ids=self.ids,
            meter=meter or ListMeter(),
            tracer=tracer or Untraced(),
            gate=self.gate,
            server=server,
            presence=ServerPresence(server, health, self.clock, load_wait_ms=300_000),
            model=None,
            retry_attempts=2,
            bounds=bounds or OwnerBounds(),
        )

    async def begin(
        self,
        *documents: DocumentText,
        query: str = "Where is it?",
        level: int = 1,
        exit: ExitMode = ExitMode.NEVER,
        memory_budget: int = 64,
        parallel: int | None = None,
        chunk_tokens: int | None = CHUNK_TOKENS,
        trace: TraceContext | None = None,
    ) -> ReadingId:
        """Begin a reading."""
        options = ReadingOptions(
            level=level, exit=exit, memory_budget=memory_budget, chunk_tokens=chunk_tokens, parallel=parallel
        )
        asked = ReadingAsked(query=query, documents=documents, options=options, trace=trace)
        return await self.readings.create(asked, LOCAL_OWNER)

    async def finish(self, reading: ReadingId) -> ReadingView:
        """Wait for its end."""
        async with asyncio.timeout(BOUND_S):
            return await self.readings.wait(reading, LOCAL_OWNER)

    async def read(self, *documents: DocumentText, **asked: object) -> ReadingView:
        """Read to the end."""
        return await self.finish(await self.begin(*documents, **asked))  # pyright: ignore[reportArgumentType]

    async def records(self, reading: ReadingId) -> Sequence[ReadingRecord]:
        """Give its records, without their envelopes."""
        return [decode_reading_record(stored.body).record for stored in await self.log.read_reading(reading)]
