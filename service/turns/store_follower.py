"""One reader of all sessions of an owner: records in the store's order, then what is in flight (H6).

It has one cursor, a `pos`. Records are read from the log, across sessions; so the cursor of a client that comes back
is good whatever sessions there are. What is in flight is looked up in the sessions that have something in flight.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Self

from service.core.ids import OwnerId, SessionId
from service.core.signals import Resync
from service.ports import SessionLog, StoredRecord
from service.turns.events import Event, SignalEvent
from service.turns.feed import Feed, Feeds
from service.turns.follower import PAGE, PAGE_BYTES
from service.turns.text_reader import TextReader
from service.turns.waker import Waker


class StoreFollower:
    """Iterate over it for batches of events that are ready together; use it as a context manager."""

    def __init__(self, feeds: Feeds, log: SessionLog, owner: OwnerId, *, after_pos: int, resync: Resync | None) -> None:
        self._feeds = feeds
        self._log = log
        self._owner = owner
        self._pos = after_pos
        self._resync = resync
        self._waker = Waker()
        self._deletions = feeds.hub.version
        self._versions: dict[SessionId, int] = {}
        self._readers: dict[SessionId, TextReader] = {}
        self._live = False

    @property
    def remembered(self) -> int:
        """Of how many sessions a place in their text is kept."""
        return len(self._readers)

    async def __aenter__(self) -> Self:
        # Attached before the first read: what is appended in between wakes it.
        self._feeds.hub.attach(self._waker)
        self._waker.set()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._feeds.hub.detach(self._waker)

    async def __aiter__(self) -> AsyncIterator[Sequence[Event]]:
        if self._resync is not None:
            yield [SignalEvent(session=None, turn=None, signal=self._resync)]
        while True:
            await self._waker.wait()
            seen: int | None = None
            active: dict[SessionId, Feed] = {}
            while seen != self._feeds.hub.appends:
                # What came while the store was asked stands before what is in flight now.
                seen = self._feeds.hub.appends
                while records := await self._next_records():
                    yield self._told(records)
                active = await self._ours()
            if self._feeds.closing is not None:
                yield [SignalEvent(session=None, turn=None, signal=self._feeds.closing)]
                return
            if events := [*self._deleted(), *self._in_flight(active)]:
                yield events

    async def _next_records(self) -> Sequence[StoredRecord]:
        return await self._log.read_all(self._owner, after_pos=self._pos, limit=PAGE, max_bytes=PAGE_BYTES)

    def _told(self, records: Sequence[StoredRecord]) -> list[Event]:
        events: list[Event] = []
        for record in records:
            self._pos = record.pos
            if self._live:
                events += self._reader(record.session).rest_before(record)
            events.append(record)
        return events

    def _reader(self, session: SessionId) -> TextReader:
        return self._readers.setdefault(session, TextReader(session, live=self._live))

    def _deleted(self) -> list[Event]:
        gone = self._feeds.hub.closed_after(self._deletions)
        self._deletions = self._feeds.hub.version
        return [*gone]

    async def _ours(self) -> dict[SessionId, Feed]:
        return {feed.session: feed for feed in self._feeds.active() if await self._is_ours(feed.session)}

    def _in_flight(self, active: dict[SessionId, Feed]) -> list[Event]:
        events: list[Event] = []
        for session, feed in active.items():
            events += feed.signals_after(self._versions.get(session, 0))
            self._versions[session] = feed.version
            events += self._reader(session).next_of(feed.step)
        # Where nothing is in flight there is nothing to remember: the next step is told from its beginning.
        self._readers = {session: reader for session, reader in self._readers.items() if session in active}
        self._versions = {session: version for session, version in self._versions.items() if session in active}
        self._live = True
        return events

    async def _is_ours(self, session: SessionId) -> bool:
        if session in self._readers:
            return True
        row = await self._log.session(session)
        return row is not None and row.owner == self._owner
