"""A reading in memory while it goes on: the fold of its log, and the one place that appends to it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from service.access.owner_places import OwnerPlaces
from service.access.written import written
from service.codec import encode_reading_record
from service.core.ids import OwnerId, ReadingId
from service.core.reading.records import ReadingEntry, ReadingRecord, RunEnd
from service.core.reading.state import ReadingLogState, apply, fold
from service.core.reading.view import reading_status
from service.ports import Clock, Meter, ReadingDraft, ReadingLog
from service.ports.tracer import ReadingSpan
from service.readings.feed import ReadingFeed
from service.readings.reading_end import cost_of, tell


class LiveReading:
    """One reading's fold, kept in step with its log by `append`.

    After a `StoreFailure` the memory may lag behind the log: the owner drops it and loads it anew.
    """

    def __init__(
        self,
        reading: ReadingId,
        owner: OwnerId | None,
        entries: Sequence[ReadingEntry],
        feed: ReadingFeed,
        log: ReadingLog,
        clock: Clock,
        meter: Meter,
        places: OwnerPlaces[ReadingId],
    ) -> None:
        self.id = reading
        self.owner = owner
        self.feed = feed
        self.state: ReadingLogState = fold(entry.record for entry in entries)
        self.begun_at = entries[0].time
        # Its first record is written before anything goes on with it.
        self.was_begun = len(entries) > 1
        # While something goes on with it.
        self.span: ReadingSpan | None = None
        self.gate_wait_s = 0.0
        self._last_seq = entries[-1].seq
        self._log = log
        self._clock = clock
        self._meter = meter
        self._places = places
        self._appending = asyncio.Lock()

    async def append(self, *records: ReadingRecord) -> None:
        """Append records to the log, fold them, then publish them, in this order and as one (S1, R5).

        A cancel that comes while the write is under way waits for it: the log and the memory never part.

        Raises:
            StoreFailure: nothing was kept.
        """
        await written(self._append(records))

    async def _append(self, records: Iterable[ReadingRecord]) -> None:
        async with self._appending:
            state, now = self.state, self._clock.now()
            drafts: list[ReadingDraft] = []
            entries: list[ReadingEntry] = []
            for record in records:
                entry = ReadingEntry(reading=self.id, seq=self._last_seq + len(drafts) + 1, time=now, record=record)
                entries.append(entry)
                drafts.append(ReadingDraft(type=record.type, body=encode_reading_record(entry)))
                state = apply(state, record)
            await self._log.append_to_reading(self.id, self._last_seq, drafts, reading_status(state), now)
            self.state, self._last_seq = state, self._last_seq + len(drafts)
            if state.ended is not None:
                # Before anybody hears of it: whoever waited for its end may begin another at once (K3).
                self._places.free(self.id)
            self.feed.publish_appended()
            self._meter.appended_to_reading(entries)
            end = entries[-1].record
            if isinstance(end, RunEnd):
                cost = cost_of(
                    end, len(state.created.documents), (now - self.begun_at).total_seconds(), self.gate_wait_s
                )
                self._meter.reading_ended(cost)
                if self.span is not None:
                    self.span.ended(cost)
                tell(self.id, cost)
