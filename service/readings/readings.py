"""Readings as callers know them: begin one, look at it, follow it, cancel it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import sha256

from service.access.keyed_requests import KeyedRequests
from service.access.leaving_clients import LeavingClients
from service.access.owner_places import OwnerPlaces
from service.codec import encode_reading_record
from service.core.errors import ProblemCode, RequestRefused, service_is_stopping
from service.core.ids import OwnerId, ReadingId
from service.core.owner_bounds import OwnerBounds
from service.core.reading.records import ReadDocument, ReadingCreated, ReadingEntry
from service.core.reading.sizes import TooSmallContext
from service.core.reading.status import ReadingState, ReadingStatus
from service.core.request_key import KeyedReading, RequestKey
from service.core.signals import Resync, ShuttingDown
from service.ports import Clock, Ids, NewReading, ReadingDraft, ReadingLog, ReadingRow, Tracer
from service.ports.documents import DocumentText
from service.readings.feed import ReadingFeeds
from service.readings.follower import ReadingFollower
from service.readings.going import GoingReadings
from service.readings.planner import ReadingPlanner
from service.readings.requests import ReadingAsked, ReadingView, reading_view


class Readings:
    """The facade of this package: what can be refused is refused here, before work starts (H2)."""

    def __init__(
        self,
        *,
        log: ReadingLog,
        clock: Clock,
        ids: Ids,
        feeds: ReadingFeeds,
        planner: ReadingPlanner,
        going: GoingReadings,
        keyed: KeyedRequests[KeyedReading],
        model: str | None,
        places: OwnerPlaces[ReadingId],
        bounds: OwnerBounds,
        tracer: Tracer,
    ) -> None:
        self._log = log
        self._clock = clock
        self._ids = ids
        self._feeds = feeds
        self._planner = planner
        self._going = going
        self._keyed = keyed
        self._model = model
        self._places = places
        self._bounds = bounds
        self._tracer = tracer
        self._leaving = LeavingClients()

    async def create(self, asked: ReadingAsked, owner: OwnerId, key: RequestKey | None = None) -> ReadingId:
        """Begin a reading; a repeated `key` gives the one that was begun with it (H3).

        Raises:
            RequestRefused: it would not fit the context, the owner has too many that go on, or the service shuts
                down.
        """
        self._refuse_at_shutdown()
        async with self._keyed.first(key) as known:
            if known is not None:
                return known.reading
            reading = self._ids.reading()
            with self._places.kept_for(reading, owner, self._bounds.check_readings):
                await self._create(reading, asked, owner, key)
            return reading

    async def _create(self, reading: ReadingId, asked: ReadingAsked, owner: OwnerId, key: RequestKey | None) -> None:
        # Beside the loop: these may be many megabytes.
        texts = await asyncio.to_thread(lambda: [document.text.encode() for document in asked.documents])
        documents = await asyncio.to_thread(_read_documents, asked.documents, texts)
        created = ReadingCreated(query=asked.query, documents=documents, options=asked.options, model=self._model)
        try:
            await self._planner.check(created)
        except TooSmallContext as small:
            raise RequestRefused(ProblemCode.VALIDATION, small.reason) from small
        now = self._clock.now()
        entry = ReadingEntry(reading=reading, seq=1, time=now, record=created)
        await self._log.create_reading(
            NewReading(id=reading, owner=owner, created_at=now),
            [ReadingDraft(type=created.type, body=encode_reading_record(entry))],
            texts,
            ReadingStatus(),
            key=key,
        )
        if asked.trace is not None:
            self._tracer.asked(reading, asked.trace)
        self._going.begin(reading, owner)

    async def view(self, reading: ReadingId, owner: OwnerId) -> ReadingView:
        """Give the reading resource."""
        return reading_view(await self._row(reading, owner))

    async def page(
        self, owner: OwnerId, *, limit: int, after: ReadingId | None
    ) -> tuple[Sequence[ReadingView], ReadingId | None]:
        """Give readings, newest first, and the cursor of the next page (None on the last one)."""
        rows = await self._log.readings(owner=owner, limit=limit + 1, before=after)
        following = rows[limit - 1].id if len(rows) > limit else None
        return [reading_view(row) for row in rows[:limit]], following

    async def cancel(self, reading: ReadingId, owner: OwnerId) -> tuple[ReadingView, bool]:
        """Cancel a reading; what is read so far stays. The flag says that it had ended before.

        Raises:
            RequestRefused: there is no such reading, or the service shuts down.
        """
        row = await self._row(reading, owner)
        if row.status.state is ReadingState.FINISHED:
            return reading_view(row), True
        self._refuse_at_shutdown()
        await self._going.cancel(reading)
        return reading_view(await self._row(reading, owner)), False

    def left(self, reading: ReadingId, owner: OwnerId) -> None:
        """Take note that the client for whom it is read has gone: it is cancelled (H5).

        A client that a stopping service sends away has not gone: its reading goes on with the next start.
        """
        if self._feeds.closing is None:
            self._leaving.soon(reading, self.cancel(reading, owner))

    async def wait(self, reading: ReadingId, owner: OwnerId) -> ReadingView:
        """Wait until the reading has ended, or the service stops, and give it (H1)."""
        await self._row(reading, owner)
        await self._going.over(reading)
        return reading_view(await self._row(reading, owner))

    async def follow(
        self, reading: ReadingId, owner: OwnerId, *, after_pos: int | None, live: bool = False
    ) -> ReadingFollower | None:
        """Prepare to follow a reading; all that can be refused is refused here (H6).

        `live` is the stream of a POST, which is told every piece. None says that the reading's end was seen already.
        """
        row = await self._row(reading, owner)
        feed = self._feeds.of(reading)
        if after_pos is None:
            return ReadingFollower(feed, self._log, after_pos=0, live=live)
        if row.status.state is ReadingState.FINISHED and not await self._log.read_reading(
            reading, after_pos=after_pos, limit=1
        ):
            return None
        cursor = await self._log.cursor(after_pos)
        resync = Resync(last_pos=cursor.last_pos) if cursor.is_lost else None
        place = cursor.last_pos if cursor.is_lost else after_pos
        return ReadingFollower(feed, self._log, after_pos=place, resync=resync)

    @property
    def going(self) -> int:
        """How many readings go on now."""
        return self._going.number

    async def resume_unfinished(self) -> None:
        """Go on with every reading that the last process left unfinished (R5)."""
        for reading in await self._log.unfinished_readings():
            row = await self._log.reading(reading)
            if row is not None:
                self._going.begin(reading, row.owner)

    async def shut_down(self) -> None:
        """Begin nothing new and end the streams; what is being read goes on with the next start (H8)."""
        await self._going.shut_down(ShuttingDown())

    def _refuse_at_shutdown(self) -> None:
        if self._feeds.closing is not None:
            raise service_is_stopping()

    async def _row(self, reading: ReadingId, owner: OwnerId) -> ReadingRow:
        row = await self._log.reading(reading)
        if row is None or row.owner != owner:
            raise RequestRefused(ProblemCode.NOT_FOUND, f"There is no reading {reading!r}.")
        return row


def _read_documents(documents: Sequence[DocumentText], texts: Sequence[bytes]) -> tuple[ReadDocument, ...]:
    return tuple(
        ReadDocument(
            name=document.name, media_type=document.media_type, bytes=len(text), sha256=sha256(text).hexdigest()
        )
        for document, text in zip(documents, texts, strict=True)
    )
