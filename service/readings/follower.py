"""One reader of a reading's events: replay from the log, then live, without a gap or a duplicate (H6).

Like the followers of turns it has only cursors; what is in flight comes after everything that is in the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from types import TracebackType
from typing import Self

from service.core.reading.records import RunEnd
from service.core.reading.signals import PartialReply, ReadingSignal, ReadingText
from service.core.signals import Resync
from service.ports import ReadingLog, StoredReadingRecord
from service.readings.feed import Place, ReadingFeed, ReadingSignalEvent, ReplyText

# What is read from the log at a time: this much waits for each reader that takes nothing (H7).
PAGE = 200
PAGE_BYTES = 64 * 1024

ReadingEvent = StoredReadingRecord | ReadingSignalEvent
"""One thing that a follower is shown."""


class ReadingFollower:
    """Iterate over it for batches of events that are ready together; use it as a context manager.

    It begins behind `after_pos` and ends behind the reading's `run_end`. A reader that comes back is told the text in
    flight as one `partial`; `live` is for whoever has just begun the reading, who is told every piece.
    """

    def __init__(
        self, feed: ReadingFeed, log: ReadingLog, *, after_pos: int, live: bool = False, resync: Resync | None = None
    ) -> None:
        self._feed = feed
        self._log = log
        self._pos = after_pos
        self._live = live
        self._resync = resync
        self._read_to = -1
        self._version = 0
        self._told: dict[Place, tuple[int, int, int]] = {}
        self._waker = asyncio.Event()
        self._ended = False

    async def __aenter__(self) -> Self:
        # Attached before the first read: what is appended in between wakes it.
        self._feed.attach(self._waker)
        self._waker.set()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._feed.detach(self._waker)

    async def __aiter__(self) -> AsyncIterator[Sequence[ReadingEvent]]:
        if self._resync is not None:
            yield [self._event(self._resync)]
        while True:
            await self._waker.wait()
            self._waker.clear()
            while records := await self._next_records():
                yield records
            if self._ended:
                return
            if self._feed.closing is not None:
                yield [self._event(self._feed.closing)]
                return
            if events := [self._event(signal) for signal in self._in_flight()]:
                yield events

    async def _next_records(self) -> Sequence[StoredReadingRecord]:
        # What is appended while the log is read stands before what is in flight by then.
        while not self._ended and self._read_to != self._feed.appends:
            appends = self._feed.appends
            found = await self._log.read_reading(
                self._feed.reading, after_pos=self._pos, limit=PAGE, max_bytes=PAGE_BYTES
            )
            if not found:
                self._read_to = appends
                continue
            self._pos = found[-1].pos
            self._ended = found[-1].type == RunEnd.type
            return found
        return ()

    def _in_flight(self) -> Iterator[ReadingSignal]:
        yield from self._feed.signals_after(self._version)
        self._version = self._feed.version
        replies = self._feed.replies
        self._told = {place: told for place, told in self._told.items() if place in replies}
        for place, reply in replies.items():
            if (signal := self._news_of(reply)) is not None:
                yield signal
            self._told[place] = (reply.number, len(reply.pieces), reply.length)
        self._live = True

    def _news_of(self, reply: ReplyText) -> ReadingSignal | None:
        place = reply.place
        number, pieces, offset = self._told.get(place, (0, 0, 0))
        if number != reply.number:
            pieces, offset = 0, 0
        text = "".join(reply.pieces[pieces:])
        if not text:
            return None
        if not self._live:
            return PartialReply(level=place.level, document=place.document, chunk=place.chunk, content=text)
        return ReadingText(level=place.level, document=place.document, chunk=place.chunk, text=text, offset=offset)

    def _event(self, signal: ReadingSignal) -> ReadingSignalEvent:
        return ReadingSignalEvent(reading=self._feed.reading, signal=signal)
