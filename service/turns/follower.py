"""One reader of a session's events: replay from the log, then live, without a gap or a duplicate (H6).

A follower has only cursors. Each time it is woken it works out what is new since them: records from the feed's
last few or from the log, then the newest signals, then the text that came. What is in flight always comes after
everything that is in the log, so this order is the order in which things happened.

Where the session has children their events are told, too, in the store's order. The last few records of one feed
don't show what its children appended before them; so the log is asked, once for each time that something was
appended, until no child is left to which anything may be appended.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from service.core.ids import SessionId, TurnId
from service.core.records import ApprovalDecided, ApprovalRequested, HandoffStarted, TurnFinished
from service.core.signals import Resync, Signal, StoreBroken
from service.ports import SessionLog, StoredRecord
from service.turns.events import Event, SignalEvent
from service.turns.feed import Feed
from service.turns.text_reader import TextReader
from service.turns.waker import Waker

# What is read from the log at a time: this much waits for each reader that takes nothing (H7).
PAGE = 200
PAGE_BYTES = 64 * 1024

# What the stream of a turn tells of the turns that it was handed over to: what it waits for.
TOLD_OF_CHILDREN = (ApprovalRequested.type, ApprovalDecided.type)


@dataclass(slots=True)
class _Place:
    """How far the reader is in what one session has in flight."""

    text: TextReader
    version: int = 0


class Outlet(Protocol):
    """Where a reader takes events in the moment in which they come."""

    @property
    def is_free(self) -> bool:
        """Whether it takes something now."""
        ...

    def take(self, events: Sequence[Event]) -> None:
        """Take events, without waiting for anything and without raising; only when it is free."""
        ...


class Follower:
    """Iterate over it for batches of events that are ready together; use it as a context manager.

    It begins behind `after_pos`; None is the beginning of the session, or of the turn, whose first record has
    `first_seq`. `turn` keeps the events of one turn, with the approvals of those that it was handed over to, and ends
    behind its `turn_finished`; None keeps all of the session and its children and never ends. `until_pause` is for
    whoever has just begun the turn or let it go on: the reader is told every delta from there on, and none as
    `partial`, and it ends when the turn waits for a person as well.
    """

    def __init__(
        self,
        feed: Feed,
        log: SessionLog,
        *,
        after_pos: int | None,
        turn: TurnId | None = None,
        first_seq: int = 1,
        until_pause: bool = False,
        resync: Resync | None = None,
    ) -> None:
        self._feed = feed
        self._log = log
        self._pos = after_pos or 0
        self._seq = first_seq - 1
        self._turn = turn
        self._until_pause = until_pause
        self._resync = resync
        self._waker = Waker()
        self._outlet: Outlet | None = None
        self._own = _Place(TextReader(feed.session, live=until_pause))
        self._below: dict[SessionId, _Place] = {}
        self._live = until_pause
        self._ended = False
        # Whether nothing behind the cursor can be a child's, unless a record that is yet to be told began it.
        self._alone = after_pos is None
        self._joins = feed.joins
        self._read_to = -1

    def tell_at_once(self, outlet: Outlet) -> None:
        """Give the outlet text as it comes, as long as it is free, and the iteration all that it isn't given.

        To wake the iteration, and what waits for it, for each token is a fifth of what a token takes.
        """
        self._outlet = outlet
        self._waker.instead = self._told_at_once

    async def __aenter__(self) -> Self:
        # Attached before the first read: what is appended in between wakes it.
        self._feed.attach_family(self._waker)
        self._waker.set()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._feed.detach(self._waker)

    async def __aiter__(self) -> AsyncIterator[Sequence[Event]]:
        if self._resync is not None:
            yield [self._event(self._turn, self._resync)]
        feed = self._feed
        while not self._ended:
            await self._waker.wait()
            if not self._has_all_records():
                while records := await self._next_records():
                    if events := self._told(records):
                        yield events
                if self._ended:
                    return
            if feed.closing is not None:
                yield [self._event(None, feed.closing)]
                return
            if events := self._in_flight():
                yield events

    def _told_at_once(self) -> bool:
        feed, outlet = self._feed, self._outlet
        if (
            outlet is None
            or not outlet.is_free
            or feed.closing is not None
            or self._own.version != feed.version
            or not self._has_all_records()
        ):
            return False
        if events := self._own_text():
            outlet.take(events)
        return True

    def _has_all_records(self) -> bool:
        """Say whether nothing is new in the log, for sure: nearly always it is a token that a follower is woken for."""
        recent = self._feed.recent
        return bool(recent) and recent[-1].pos <= self._pos and self._alone and self._feed.joins == self._joins

    async def _next_records(self) -> Sequence[StoredRecord]:
        if self._ended:
            return ()
        recent = self._recent()
        if recent is not None:
            return recent
        while self._read_to != self._feed.appends:
            # What is appended while the log is read stands before what is in flight by then.
            appends, joins = self._feed.appends, self._feed.joins
            found = await self._read()
            if _is_all(found):
                self._read_to, self._joins = appends, joins
                # Nothing can be appended to a child that nobody has in memory, and all that it has is read.
                self._alone = not self._feed.has_children
                if self._alone:
                    self._below.clear()
            if found:
                return found
        return ()

    def _recent(self) -> Sequence[StoredRecord] | None:
        """Give what is new from the feed's last few records; None when they may not be all that is new."""
        if not self._alone or self._feed.joins != self._joins:
            self._alone = False
            return None
        recent = self._feed.recent
        if not recent or (recent[0].seq > self._seq + 1 and recent[0].pos > self._pos):
            return None
        if recent[-1].pos <= self._pos:
            return ()
        return _to_first_handoff([record for record in recent if record.pos > self._pos and record.seq > self._seq])

    async def _read(self) -> Sequence[StoredRecord]:
        session, place = self._feed.session, self._pos
        if self._turn is None:
            return await self._log.read_family(session, after_pos=place, limit=PAGE, max_bytes=PAGE_BYTES)
        return await self._log.read_turn_family(
            session, self._turn, types_below=TOLD_OF_CHILDREN, after_pos=place, limit=PAGE, max_bytes=PAGE_BYTES
        )

    def _told(self, records: Sequence[StoredRecord]) -> list[Event]:
        events: list[Event] = []
        for record in records:
            self._pos = record.pos
            if record.session == self._feed.session:
                self._seq = record.seq
                if self._turn not in (None, record.turn):
                    continue
            events += self._rest_before(record)
            events.append(record)
            if record.type == HandoffStarted.type:
                self._alone = False
            if self._is_last(record):
                self._ended = True
                break
        return events

    def _rest_before(self, record: StoredRecord) -> list[Event]:
        if record.session == self._feed.session:
            return self._own.text.rest_before(record)
        # No text is told that came before this reader did; where a step is in flight, this may be its record.
        if not (self._live or self._speaks(record.session)):
            return []
        return self._place(record.session).text.rest_before(record)

    def _speaks(self, session: SessionId) -> bool:
        return any(feed.session == session and feed.step is not None for feed in self._feed.family())

    def _is_last(self, record: StoredRecord) -> bool:
        if self._turn is None:
            return False
        if self._until_pause and record.type == ApprovalRequested.type:
            return True
        return record.session == self._feed.session and record.type == TurnFinished.type

    def _place(self, session: SessionId) -> _Place:
        return self._below.setdefault(session, _Place(TextReader(session, live=self._live)))

    def _in_flight(self) -> list[Event]:
        events = self._own_text()
        if self._own.version != self._feed.version:
            signals = self._own_signals()
            if self._ended:
                # The last word is that of the broken store, also for whoever came only now.
                return [*events, *signals]
            events = [*signals, *events]
        if self._turn is None and not self._alone:
            events += self._in_flight_below()
        self._live = True
        return events

    def _own_text(self) -> list[Event]:
        step = self._feed.step
        wanted = step is not None and self._turn in (None, step.turn)
        return self._own.text.next_of(step if wanted else None)

    def _own_signals(self) -> list[Event]:
        signals = self._feed.signals_after(self._own.version)
        self._own.version = self._feed.version
        # What follows can't be told in order any more: whoever comes back reads it from the log (S5).
        self._ended = any(isinstance(event.signal, StoreBroken) for event in signals)
        return [event for event in signals if self._turn in (None, event.turn)]

    def _in_flight_below(self) -> list[Event]:
        active = {feed.session: feed for feed in self._feed.family() if feed is not self._feed and feed.is_active}
        # Where nothing is in flight there is nothing to remember: the next step is told from its beginning.
        self._below = {session: place for session, place in self._below.items() if session in active}
        events: list[Event] = []
        for session, feed in active.items():
            place = self._place(session)
            events += feed.signals_after(place.version)
            place.version = feed.version
            events += place.text.next_of(feed.step)
        return events

    def _event(self, turn: TurnId | None, signal: Signal) -> SignalEvent:
        return SignalEvent(session=self._feed.session, turn=turn, signal=signal)


def _to_first_handoff(records: list[StoredRecord]) -> Sequence[StoredRecord]:
    for place, record in enumerate(records, start=1):
        if record.type == HandoffStarted.type:
            return records[:place]
    return records


def _is_all(page: Sequence[StoredRecord]) -> bool:
    return len(page) < PAGE and sum(len(record.body) for record in page) < PAGE_BYTES
