"""Wakes the followers of a session and of its parents. It holds no events: records are in the log, text in the step.

What is kept is bounded: the last few records (so that live followers need not ask the log), the text of the step
in flight, and the newest signal of each kind. A slow reader finds its deltas merged and its records in the log
(H7).

The feed of a child is joined to that of its parent before its session is made, and before it is loaded, and stays so
as long as anything may be appended to it: so a feed that no other is joined to has no news but its own (G2).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from weakref import WeakSet, WeakValueDictionary

from service.core.ids import SessionId, TurnId
from service.core.signals import Signal
from service.ports import StoredRecord
from service.turns.events import SignalEvent
from service.turns.step_text import StepText
from service.turns.waker import Wakes

# Enough for the records of a few steps; a follower that is further behind reads the log.
RECENT_RECORDS = 64
# Sessions that were deleted between two looks of a reader of all sessions; more than these it isn't told of.
LAST_WORDS_KEPT = 256


class Hub:
    """Wakes those who follow all sessions, and remembers the last words of sessions that are gone."""

    def __init__(self) -> None:
        self.wakers: set[Wakes] = set()
        self._last_words: deque[tuple[int, SignalEvent]] = deque(maxlen=LAST_WORDS_KEPT)
        self.version = 0
        self.appends = 0

    def attach(self, waker: Wakes) -> None:
        """Have `waker` set whenever something is new in any session."""
        self.wakers.add(waker)

    def detach(self, waker: Wakes) -> None:
        """Stop waking it."""
        self.wakers.discard(waker)

    def wake(self) -> None:
        """Wake them all."""
        for waker in self.wakers:
            waker.set()

    def close(self, event: SignalEvent) -> None:
        """Tell that a session is gone."""
        self.version += 1
        self._last_words.append((self.version, event))
        self.wake()

    def closed_after(self, version: int) -> list[SignalEvent]:
        """Give the last words of sessions that went after this version."""
        return [event for seen, event in self._last_words if seen > version]


class Feed:
    """What is new in one session, for any number of followers."""

    def __init__(self, session: SessionId, hub: Hub) -> None:
        self.session = session
        self._hub = hub
        # A list, since a deque takes room for 64 at once, and most sessions have a handful.
        self.recent: list[StoredRecord] = []
        self.step: StepText | None = None
        self.closing: Signal | None = None
        self._newest: dict[tuple[str, TurnId | None], tuple[int, SignalEvent]] = {}
        # Grows with each signal.
        self.version = 0
        self._wakers: set[Wakes] = set()
        self._family_wakers: set[Wakes] = set()
        self._parent: Feed | None = None
        # Made for the first child: an empty one takes a kilobyte, and few sessions hand over.
        self._children: WeakSet[Feed] | None = None
        self.appends = 0
        self.joins = 0

    def join(self, parent: Feed) -> None:
        """Take this session for a child of that one: whoever follows that one is told of this one, too."""
        self._parent = parent
        if parent._children is None:
            parent._children = WeakSet()
        parent._children.add(self)
        for above in parent._upwards():
            above.joins += 1

    def _upwards(self) -> Iterator[Feed]:
        """Give this feed, its parent's, and so on."""
        feed: Feed | None = self
        while feed is not None:
            yield feed
            feed = feed._parent

    @property
    def has_children(self) -> bool:
        """Whether anything may be appended to a child now."""
        return bool(self._children)

    def family(self) -> Iterator[Feed]:
        """Give this feed and those of the children at every depth that are in memory."""
        yield self
        for child in list(self._children or ()):
            yield from child.family()

    @property
    def is_active(self) -> bool:
        """Whether there is something that is no record yet."""
        return self.step is not None or bool(self._newest)

    def attach(self, waker: Wakes) -> None:
        """Have `waker` set whenever something is new."""
        self._wakers.add(waker)

    def attach_family(self, waker: Wakes) -> None:
        """Have `waker` set whenever something is new in this session or in its children at every depth."""
        self._family_wakers.add(waker)

    def detach(self, waker: Wakes) -> None:
        """Stop waking it."""
        self._wakers.discard(waker)
        self._family_wakers.discard(waker)

    def publish_records(self, records: Sequence[StoredRecord]) -> None:
        """Tell of records that are in the log (S1: never before they are)."""
        if self.recent and records and records[0].seq != self.recent[-1].seq + 1:
            # A write that was taken for failed may have happened: its records are in the log only.
            self.recent.clear()
        self.recent.extend(records)
        del self.recent[:-RECENT_RECORDS]
        for feed in self._upwards():
            feed.appends += 1
        self._hub.appends += 1
        self.wake()

    def publish_signal(self, turn: TurnId | None, signal: Signal) -> None:
        """Tell of a signal; a newer one of its turn and kind replaces it for those who have not seen it."""
        self.version += 1
        event = SignalEvent(session=self.session, turn=turn, signal=signal)
        self._newest[signal.type, turn] = (self.version, event)
        self.wake()

    def forget_signal(self, turn: TurnId | None, kind: type[Signal]) -> None:
        """Don't tell new followers of what has passed."""
        self._newest.pop((kind.type, turn), None)

    def begin_step(self, step: StepText) -> None:
        """Start the text of a step, or of another attempt at it."""
        self.step = step

    def end_step(self, turn: TurnId | None) -> None:
        """Forget the text of a turn's step and its signals: what is worth keeping of it is a record now."""
        if self.step is not None and self.step.turn == turn:
            self.step = None
        self._newest = {key: told for key, told in self._newest.items() if key[1] != turn}

    def signals_after(self, version: int) -> list[SignalEvent]:
        """Give the newest signal of each kind that came after this version, in order."""
        if version == self.version:
            return []
        return [event for seen, event in sorted(self._newest.values(), key=lambda item: item[0]) if seen > version]

    def close(self, signal: Signal) -> None:
        """End every follower with a last signal (H8, H9)."""
        self.closing = signal
        self.wake()

    def wake(self) -> None:
        """Wake every follower, those of its parents, and those who follow all sessions."""
        for waker in self._wakers:
            waker.set()
        # At each word of each turn, so without the generator.
        feed: Feed | None = self
        while feed is not None:
            for waker in feed._family_wakers:
                waker.set()
            feed = feed._parent
        if self._hub.wakers:
            self._hub.wake()


class Feeds:
    """The feeds of all sessions that run or that someone follows; each lives as long as one of these holds it."""

    def __init__(self) -> None:
        self._feeds: WeakValueDictionary[SessionId, Feed] = WeakValueDictionary()
        self.closing: Signal | None = None
        self.hub = Hub()

    def of(self, session: SessionId) -> Feed:
        """Give the session's feed, made when there is none."""
        feed = self._feeds.get(session)
        if feed is None:
            feed = self._feeds[session] = Feed(session, self.hub)
            feed.closing = self.closing
        return feed

    def join(self, child: SessionId, parent: SessionId) -> Feed:
        """Give a child's feed, joined to its parent's; to be held as long as anything may be appended to the child."""
        feed = self.of(child)
        feed.join(self.of(parent))
        return feed

    def active(self) -> list[Feed]:
        """Give the feeds that have something in flight: a step's text, or signals."""
        return [feed for feed in self._feeds.values() if feed.is_active]

    def close_one(self, session: SessionId, signal: Signal) -> None:
        """End the followers of one session."""
        feed = self._feeds.get(session)
        if feed is not None:
            feed.close(signal)
        self.hub.close(SignalEvent(session=session, turn=None, signal=signal))

    def close_all(self, signal: Signal) -> None:
        """End all followers, also those that come from now on."""
        self.closing = signal
        self.hub.wake()
        for feed in list(self._feeds.values()):
            feed.close(signal)
