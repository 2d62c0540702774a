"""The readings that go on now: a task for each, which begins where its log ends (R5)."""

from __future__ import annotations

import asyncio

import structlog
from structlog.contextvars import bind_contextvars

from service.access.owner_places import OwnerPlaces
from service.codec import decode_reading_record
from service.core.errors import ErrorKind, StoreFailure
from service.core.ids import OwnerId, ReadingId
from service.core.reading.machine import run_end
from service.core.reading.records import ReadingOutcome
from service.core.reading.signals import ReadingSignal
from service.core.reading.status import ReadingState
from service.core.records.outcomes import TurnError
from service.core.signals import StoreBroken
from service.ports import Clock, Meter, ReadingLog, Tracer
from service.ports.tracer import ReadingBegun
from service.readings.feed import ReadingFeeds
from service.readings.live_reading import LiveReading
from service.readings.runner import ReadingRunner

log = structlog.get_logger(__name__)


class GoingReadings:
    """Begins, cancels and ends the tasks of readings."""

    def __init__(
        self,
        log: ReadingLog,
        clock: Clock,
        meter: Meter,
        tracer: Tracer,
        feeds: ReadingFeeds,
        runner: ReadingRunner,
        places: OwnerPlaces[ReadingId],
    ) -> None:
        self._log = log
        self._clock = clock
        self._meter = meter
        self._tracer = tracer
        self._feeds = feeds
        self._runner = runner
        self._places = places
        self._tasks: dict[ReadingId, asyncio.Task[None]] = {}

    def begin(self, reading: ReadingId, owner: OwnerId) -> None:
        """Go on with a reading, unless it goes on already; until its task ends it counts as its owner's (K3)."""
        if reading not in self._tasks and self._feeds.closing is None:
            task = self._tasks[reading] = asyncio.create_task(self._go_on(reading), name=f"reading {reading}")
            self._places.take(reading, owner)
            task.add_done_callback(lambda _: self._ended(reading))

    def _ended(self, reading: ReadingId) -> None:
        del self._tasks[reading]
        self._places.free(reading)

    async def cancel(self, reading: ReadingId) -> None:
        """End a reading that has not ended; when this returns its end is in the log.

        Raises:
            StoreFailure: its end could not be kept.
        """
        await self._stop(reading)
        live = await self._load(reading)
        if live.state.ended is None:
            await live.append(run_end(live.state, ReadingOutcome.CANCELLED))

    async def over(self, reading: ReadingId) -> None:
        """Wait until a reading has ended, or goes on no more for now."""
        feed, woken = self._feeds.of(reading), asyncio.Event()
        feed.attach(woken)
        try:
            while feed.closing is None:
                woken.clear()
                row = await self._log.reading(reading)
                if row is None or row.status.state is ReadingState.FINISHED:
                    return
                await woken.wait()
        finally:
            feed.detach(woken)

    async def shut_down(self, signal: ReadingSignal) -> None:
        """End the streams and let go of what is being read; the next start goes on with it (H8)."""
        self._feeds.close_all(signal)
        for reading in list(self._tasks):
            await self._stop(reading)

    async def _stop(self, reading: ReadingId) -> None:
        task = self._tasks.get(reading)
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _load(self, reading: ReadingId) -> LiveReading:
        stored = await self._log.read_reading(reading)
        entries = [decode_reading_record(record.body) for record in stored]
        row = await self._log.reading(reading)
        owner = None if row is None else row.owner
        feed = self._feeds.of(reading)
        return LiveReading(reading, owner, entries, feed, self._log, self._clock, self._meter, self._places)

    @property
    def number(self) -> int:
        """How many go on now."""
        return len(self._tasks)

    async def _go_on(self, reading: ReadingId) -> None:
        feed = self._feeds.of(reading)
        bind_contextvars(reading=reading)
        try:
            live = await self._load(reading)
            with self._tracer.reading(_begun(live)) as live.span:
                await self._run(live)
        except StoreFailure as failure:
            # It stays unfinished in the log: a cancel ends it, the next start goes on with it (S5).
            log.error("reading.store_failed", reading=reading, reason=str(failure))
            feed.close(StoreBroken())

    async def _run(self, live: LiveReading) -> None:
        try:
            await self._runner.run(live)
        except StoreFailure as failure:
            log.error("reading.failed", reading=live.id, reason=str(failure))
            span, live = live.span, await self._load(live.id)
            live.span = span
            await live.append(run_end(live.state, ReadingOutcome.FAILED, _error(ErrorKind.STORE, str(failure))))
        except Exception:
            # A defect of ours must not leave a reading that nobody ends.
            log.exception("reading.failed", reading=live.id)
            error = _error(ErrorKind.INTERNAL, "the service failed; its log says more")
            await live.append(run_end(live.state, ReadingOutcome.FAILED, error))


def _begun(live: LiveReading) -> ReadingBegun:
    return ReadingBegun(reading=live.id, model=live.state.created.model, resumed=live.was_begun)


def _error(kind: ErrorKind, message: str) -> TurnError:
    return TurnError(kind=kind, message=message)
