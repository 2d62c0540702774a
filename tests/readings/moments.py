"""Moments of a reading at which a test may hold it: around each thing that it asks of its ports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import datetime

from service.adapters.log_memory import MemoryLog
from service.core.completion_events import Completion, CompletionDelta
from service.core.completion_request import CompletionRequest
from service.core.ids import ReadingId
from service.core.reading.status import ReadingStatus
from service.ports import ReadingDraft, ServerFacts, StoredReadingRecord, Take
from tests.readings.reader_llama import ReaderLlama


class Moments:
    """Counts what passes; at moment `hold_at` (from 1) it waits until `go_on` is set. 0 holds nothing."""

    def __init__(self, hold_at: int = 0) -> None:
        self.hold_at = hold_at
        self.passed: list[str] = []
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()

    async def moment(self, name: str) -> None:
        self.passed.append(name)
        if len(self.passed) == self.hold_at:
            self.reached.set()
            await self.go_on.wait()


class HeldLlama(ReaderLlama):
    """A model with a moment before, within and at the end of each answer, and before each question to its server."""

    moments: Moments

    async def stream(
        self, request: CompletionRequest, take: Take | None = None
    ) -> AsyncGenerator[Sequence[CompletionDelta] | Completion]:
        await self.moments.moment("asked")
        async with aclosing(super().stream(request)) as items:
            async for item in items:
                await self.moments.moment("whole answer" if isinstance(item, Completion) else "piece of an answer")
                yield item

    async def facts(self) -> ServerFacts:
        await self.moments.moment("facts")
        return await super().facts()

    async def count_text(self, text: str) -> int:
        await self.moments.moment("count")
        return await super().count_text(text)


class HeldLog(MemoryLog):
    """A store with a moment before and after each write, and before each read of a document."""

    moments: Moments

    async def append_to_reading(
        self,
        reading: ReadingId,
        expected_seq: int,
        records: Sequence[ReadingDraft],
        status: ReadingStatus,
        now: datetime,
    ) -> Sequence[StoredReadingRecord]:
        await self.moments.moment("before a write")
        stored = await super().append_to_reading(reading, expected_seq, records, status, now)
        await self.moments.moment("after a write")
        return stored

    async def document_text(self, reading: ReadingId, document: int, *, start: int, end: int) -> bytes | None:
        await self.moments.moment("read")
        return await super().document_text(reading, document, start=start, end=end)
