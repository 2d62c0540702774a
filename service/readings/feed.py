"""Wakes the followers of a reading. It holds no events: records are in the log, the text of replies in flight here.

What is kept is bounded by what is in flight: a text for each chunk that is being read, and the newest signal of each
kind and chunk. A slow reader finds its deltas merged and its records in the log (H7).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from service.core.ids import ReadingId
from service.core.reading.signals import ReadingSignal


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingSignalEvent:
    """A signal with the reading that it belongs to."""

    reading: ReadingId
    signal: ReadingSignal


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a reply is about: a chunk, or the answer, which has neither document nor chunk."""

    level: int
    document: int | None = None
    chunk: int | None = None


@dataclass(slots=True, kw_only=True)
class ReplyText:
    """What has come of one reply, in pieces; `number` tells it from other replies about the same place."""

    place: Place
    number: int
    pieces: list[str] = field(default_factory=list[str])
    length: int = 0

    def add(self, text: str) -> None:
        """Append a piece."""
        self.pieces.append(text)
        self.length += len(text)


class ReadingFeed:
    """What is new in one reading, for any number of followers."""

    def __init__(self, reading: ReadingId) -> None:
        self.reading = reading
        self.replies: dict[Place, ReplyText] = {}
        self.closing: ReadingSignal | None = None
        self.appends = 0
        self._newest: dict[tuple[str, Place | None], tuple[int, ReadingSignal]] = {}
        self._version = 0
        self._replies_begun = 0
        self._wakers: set[asyncio.Event] = set()

    @property
    def version(self) -> int:
        """Grows with each signal."""
        return self._version

    def attach(self, waker: asyncio.Event) -> None:
        """Have `waker` set whenever something is new."""
        self._wakers.add(waker)

    def detach(self, waker: asyncio.Event) -> None:
        """Stop waking it."""
        self._wakers.discard(waker)

    def publish_appended(self) -> None:
        """Tell that records are in the log (S1: never before they are)."""
        self.appends += 1
        self.wake()

    def publish_signal(self, signal: ReadingSignal, place: Place | None = None) -> None:
        """Tell of a signal; a newer one of its kind and place replaces it for those who have not seen it."""
        self._version += 1
        self._newest[signal.type, place] = (self._version, signal)
        self.wake()

    def forget_signal(self, kind: type[ReadingSignal], place: Place | None = None) -> None:
        """Don't tell new followers of what has passed."""
        self._newest.pop((kind.type, place), None)

    def begin_reply(self, place: Place) -> ReplyText:
        """Start the text of a reply; that of an earlier reply about the same place is forgotten."""
        self._replies_begun += 1
        reply = self.replies[place] = ReplyText(place=place, number=self._replies_begun)
        return reply

    def end_reply(self, place: Place) -> None:
        """Forget the text of a reply and the signals about its place."""
        self.replies.pop(place, None)
        self._newest = {key: told for key, told in self._newest.items() if key[1] != place}

    def signals_after(self, version: int) -> list[ReadingSignal]:
        """Give the newest signal of each kind and place that came after this version, in order."""
        return [signal for seen, signal in sorted(self._newest.values(), key=lambda item: item[0]) if seen > version]

    def close(self, signal: ReadingSignal) -> None:
        """End every follower with a last signal (H8, S5)."""
        self.closing = signal
        self.wake()

    def wake(self) -> None:
        """Wake every follower."""
        for waker in self._wakers:
            waker.set()


class ReadingFeeds:
    """The feeds of all readings that run or that someone follows; each lives as long as one of these holds it."""

    def __init__(self) -> None:
        self._feeds: WeakValueDictionary[ReadingId, ReadingFeed] = WeakValueDictionary()
        self.closing: ReadingSignal | None = None

    def of(self, reading: ReadingId) -> ReadingFeed:
        """Give the reading's feed, made when there is none."""
        feed = self._feeds.get(reading)
        if feed is None:
            feed = self._feeds[reading] = ReadingFeed(reading)
            feed.closing = self.closing
        return feed

    def close_all(self, signal: ReadingSignal) -> None:
        """End all followers, also those that come from now on."""
        self.closing = signal
        for feed in list(self._feeds.values()):
            feed.close(signal)
