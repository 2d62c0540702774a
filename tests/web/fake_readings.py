"""What the web layer knows of readings and documents, as small classes over values that a test puts in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from service.codec import encode_reading_record
from service.core.chain import Head
from service.core.errors import ProblemCode, RequestRefused
from service.core.ids import LOCAL_OWNER, OwnerId, ReadingId
from service.core.reading.options import ReadingOptions
from service.core.reading.records import (
    ReadDocument,
    ReadingCreated,
    ReadingEntry,
    ReadingOutcome,
    ReadingRecord,
    RunEnd,
)
from service.core.reading.status import ReadingState, ReadingStatus
from service.core.request_key import RequestKey
from service.core.usage import UsageTotals
from service.ports import StoredReadingRecord
from service.ports.documents import DocumentText, UploadedFile
from service.readings.requests import ReadingAsked, ReadingView

READING = ReadingId("rdg_1")
_NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)


CREATED = ReadingCreated(query="Where?", documents=(), options=ReadingOptions())
ENDED = RunEnd(
    level=1,
    outcome=ReadingOutcome.NOT_FOUND,
    chunks_seen=0,
    chunks_used=0,
    calls=0,
    exits_refused=0,
    final_memory_sha=None,
    usage=UsageTotals(),
)


def stored_of_reading(seq: int, record: ReadingRecord) -> StoredReadingRecord:
    """A record as the store keeps it; its `pos` is ten times its `seq`."""
    body = encode_reading_record(ReadingEntry(reading=READING, seq=seq, time=_NOON, record=record))
    return StoredReadingRecord(reading=READING, type=record.type, seq=seq, pos=seq * 10, body=body, hash=bytes(32))


def a_reading(asked: ReadingAsked | None = None) -> ReadingView:
    documents = () if asked is None else asked.documents
    return ReadingView(
        id=READING,
        owner=LOCAL_OWNER,
        created_at=_NOON,
        updated_at=_NOON,
        query="Where?" if asked is None else asked.query,
        documents=tuple(
            ReadDocument(name=document.name, media_type=document.media_type, bytes=1, sha256="00")
            for document in documents
        ),
        options=ReadingOptions() if asked is None else asked.options,
        status=ReadingStatus(),
        head=Head(seq=1, hash=bytes(32)),
    )


class EndedReading:
    """A follower that gives a whole reading at once."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    async def __aiter__(self) -> AsyncIterator[Sequence[StoredReadingRecord]]:
        yield [stored_of_reading(1, CREATED), stored_of_reading(2, ENDED)]


@dataclass
class FakeReadings:
    """One reading, which has ended when it is begun."""

    created: list[ReadingAsked] = field(default_factory=list[ReadingAsked])
    keys: list[RequestKey | None] = field(default_factory=list[RequestKey | None])
    known: bool = False
    shown: ReadingView = field(default_factory=a_reading)

    def _check(self, reading: ReadingId) -> None:
        if reading != READING and not self.known:
            raise RequestRefused(ProblemCode.NOT_FOUND, "there is no such reading")

    async def create(self, asked: ReadingAsked, owner: OwnerId, key: RequestKey | None = None) -> ReadingId:
        self.keys.append(key)
        self.created.append(asked)
        self.shown = a_reading(asked)
        return READING

    async def view(self, reading: ReadingId, owner: OwnerId) -> ReadingView:
        self._check(reading)
        return self.shown

    async def page(
        self, owner: OwnerId, *, limit: int, after: ReadingId | None
    ) -> tuple[Sequence[ReadingView], ReadingId | None]:
        return [self.shown], None

    async def cancel(self, reading: ReadingId, owner: OwnerId) -> tuple[ReadingView, bool]:
        self._check(reading)
        return self.shown, False

    def left(self, reading: ReadingId, owner: OwnerId) -> None:
        raise AssertionError("nobody leaves a reading that ends at once")

    async def wait(self, reading: ReadingId, owner: OwnerId) -> ReadingView:
        self._check(reading)
        status = ReadingStatus(state=ReadingState.FINISHED, outcome=ReadingOutcome.NOT_FOUND)
        return replace(self.shown, status=status)

    async def follow(
        self, reading: ReadingId, owner: OwnerId, *, after_pos: int | None, live: bool = False
    ) -> EndedReading | None:
        self._check(reading)
        return EndedReading() if after_pos is None or after_pos < 20 else None


@dataclass
class FakeDocuments:
    """Any file is text; `before_each` is what each has to wait for."""

    names: list[str] = field(default_factory=list[str])
    before_each: asyncio.Event | None = None
    reading: asyncio.Event = field(default_factory=asyncio.Event)
    text: str = "A text."

    async def read(self, file: UploadedFile) -> DocumentText:
        self.names.append(file.name)
        self.reading.set()
        if self.before_each is not None:
            await self.before_each.wait()
        return DocumentText(name=file.name, media_type="text/plain", text=self.text)
