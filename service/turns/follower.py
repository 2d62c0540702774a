"""One reader of a session's events: replay from the log, then live, without a gap or a duplicate (H6).

A follower has only cursors. Each time it is woken it works out what is new since them: records from the feed's
last few or from the log, then the newest signals, then the text that came. What is in flight always comes after
everything that is in the log, so this order is the order in which things happened.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Self

from service.core.ids import TurnId
from service.core.records import TurnFinished
from service.core.signals import Resync, Signal, StoreBroken
from service.ports import SessionLog, StoredRecord
from service.turns.events import Event, SignalEvent
from service.turns.feed import Feed
from service.turns.text_reader import TextReader

# What is read from the log at a time: this much waits for each reader that takes nothing (H7).
PAGE = 200
PAGE_BYTES = 64 * 1024


class Follower:
    """Iterate over it for batches of events that are ready together; use it as a context manager.

    `turn` keeps the events of one turn and ends behind its `turn_finished`; None keeps all and never ends.
    `from_start` is for the reader of a turn that has just begun: it is told every delta, and none as `partial`.
    """

    def __init__(
        self,
        feed: Feed,
        log: SessionLog,
        *,
        after_seq: int,
        turn: TurnId | None,
        from_start: bool = False,
        resync: Resync | None = None,
    ) -> None:
        self._feed = feed
        self._log = log
        self._seq = after_seq
        self._turn = turn
        self._reader = TextReader(feed.session, live=from_start)
        self._resync = resync
        self._waker = asyncio.Event()
        self._version = 0
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

    async def __aiter__(self) -> AsyncIterator[Sequence[Event]]:
        if self._resync is not None:
            yield [self._event(self._turn, self._resync)]
        while not self._ended:
            await self._waker.wait()
            self._waker.clear()
            while records := await self._next_records():
                if events := self._told(records):
                    yield events
            if self._ended:
                return
            if self._feed.closing is not None:
                yield [self._event(None, self._feed.closing)]
                return
            if events := self._in_flight():
                yield events

    async def _next_records(self) -> Sequence[StoredRecord]:
        recent = self._feed.recent
        if self._ended or (recent and recent[-1].seq <= self._seq):
            return ()
        if recent and recent[0].seq <= self._seq + 1:
            return [record for record in recent if record.seq > self._seq]
        found = await self._log.read(self._feed.session, after_seq=self._seq, limit=PAGE, max_bytes=PAGE_BYTES)
        # What was appended while the log was read stands before what is in flight by now.
        return found or [record for record in recent if record.seq > self._seq]

    def _told(self, records: Sequence[StoredRecord]) -> list[Event]:
        events: list[Event] = []
        for record in records:
            self._seq = record.seq
            if self._turn is not None and record.turn != self._turn:
                continue
            events += self._reader.rest_before(record)
            events.append(record)
            if self._turn is not None and record.type == TurnFinished.type:
                self._ended = True
                break
        return events

    def _in_flight(self) -> list[Event]:
        signals = self._feed.signals_after(self._version)
        self._version = self._feed.version
        events: list[Event] = [event for event in signals if self._turn in (None, event.turn)]
        # What follows can't be told in order any more: whoever comes back reads it from the log (S5).
        self._ended = any(isinstance(event.signal, StoreBroken) for event in signals)
        step = self._feed.step
        return events + self._reader.next_of(step if step is not None and self._turn in (None, step.turn) else None)

    def _event(self, turn: TurnId | None, signal: Signal) -> SignalEvent:
        return SignalEvent(session=self._feed.session, turn=turn, signal=signal)
