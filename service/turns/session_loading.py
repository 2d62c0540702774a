"""Brings sessions into memory: read from their logs, or as they were just made.

Above: `live_sessions`, which keeps them and runs their turns. Below: `live_session`, the codec, the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from service.codec import decode_record
from service.core.baseline import Baseline, ToolMode, ToolSelection
from service.core.records import Entry, SessionCreated
from service.core.tool_specs import decode_specs
from service.core.toolset import Toolset
from service.ports import Clock, Meter, SessionLog, SessionRow
from service.turns.feed import Feed, Feeds
from service.turns.live_session import LiveSession, baseline_of
from service.turns.open_turns import OpenTurns

READ_AT_ONCE = 1024
"""Records that are read in one go: a reader's thread that fetches many more of them holds up the loop."""

LOADED_AT_ONCE = 256
"""Records that are decoded, folded and projected in one go: some milliseconds."""


class SessionLoading:
    """Makes a session in memory of what the store holds."""

    def __init__(
        self, log: SessionLog, clock: Clock, meter: Meter, feeds: Feeds, open_turns: OpenTurns, *, guarded: bool
    ) -> None:
        self._log = log
        self._clock = clock
        self._meter = meter
        self._feeds = feeds
        self._open_turns = open_turns
        self._guarded = guarded
        self._toolsets: dict[tuple[str, ToolMode], Toolset] = {}

    async def read(self, row: SessionRow) -> LiveSession:
        """Read a session's whole log.

        Raises:
            StoreFailure: it can't be read.
        """
        feed = await feed_of(row, self._feeds, self._log)
        live = await self._empty(row, baseline_of(row.created), feed)
        # Nobody else appends to a session that is being loaded, so its pages are one log.
        while True:
            stored = await self._log.read(row.id, after_seq=live.last_seq, limit=READ_AT_ONCE)
            for start in range(0, len(stored), LOADED_AT_ONCE):
                live.load(decode_record(record.body) for record in stored[start : start + LOADED_AT_ONCE])
                # A log of 100,000 records takes seconds, which belong to everybody.
                await asyncio.sleep(0)
            if len(stored) < READ_AT_ONCE:
                return live

    async def made(self, row: SessionRow, entries: Sequence[Entry]) -> LiveSession:
        """Give a session that was just made with these records, which need not be read."""
        created = entries[0].record
        assert isinstance(created, SessionCreated)  # a session begins with nothing else
        live = await self._empty(row, created.baseline, self._feeds.of(row.id))
        live.load(entries)
        return live

    async def _empty(self, row: SessionRow, baseline: Baseline, feed: Feed) -> LiveSession:
        """Give a session whose log is yet to be loaded."""
        return LiveSession(
            row,
            baseline=baseline,
            toolset=await self._toolset(baseline.tools),
            feed=feed,
            log=self._log,
            clock=self._clock,
            meter=self._meter,
            open_turns=self._open_turns,
        )

    async def _toolset(self, tools: ToolSelection) -> Toolset:
        if tools.hash is None:
            return Toolset()
        kept = tools.hash, tools.mode
        if kept not in self._toolsets:
            encoded = await self._log.specs(tools.hash)
            assert encoded is not None  # kept before the session that names it, and never removed
            self._toolsets[kept] = Toolset(decode_specs(encoded), mode=tools.mode, guarded=self._guarded)
        return self._toolsets[kept]


async def feed_of(row: SessionRow, feeds: Feeds, log: SessionLog) -> Feed:
    """Give the feed of a session that is about to run, joined to those of its parents at every depth (G2)."""
    feed = below = feeds.of(row.id)
    parent = row.parent
    while parent is not None:
        above = feeds.of(parent.session)
        below.join(above)
        found = await log.session(parent.session)
        below, parent = above, None if found is None else found.parent
    return feed
