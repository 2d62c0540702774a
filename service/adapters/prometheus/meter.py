"""Counts what happens and what is in the log, and tells it to Prometheus (P5, P7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from service import __version__
from service.adapters.prometheus import catalogue as known
from service.adapters.prometheus.exposition import Numbers, exposed
from service.adapters.prometheus.gauges import size_now, standing_now
from service.adapters.prometheus.metric import Metric
from service.adapters.prometheus.numbers import Spread, counts, spreads
from service.adapters.prometheus.reading_counts import ReadingCounts
from service.adapters.prometheus.token_counts import TokenCounts
from service.adapters.prometheus.turn_counts import TurnCounts
from service.core.reading.records import ReadingEntry
from service.core.records import Entry
from service.ports.meter import Decided, ReadingCost, Standing, StoreSize, TurnCost, Work


class PrometheusMeter:
    """The port `Meter`; `text` is what a scrape gets.

    All of it counts from the start of the process: what a log held before is in no number, so that nothing is counted
    twice over a restart.
    """

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self._tokens = TokenCounts()
        self._turns = TurnCounts(self._tokens)
        self._readings = ReadingCounts(self._tokens)
        self._fill = Spread(known.CONTEXT_FILL.buckets)
        self._gate_waits = spreads(known.GATE_WAIT)
        self._decided = counts(known.APPROVALS_DECIDED)
        self._decision_waits = Spread(known.APPROVAL_WAIT.buckets)
        self._writes = Spread(known.LOG_WRITE.buckets)
        self._groups = Spread(known.LOG_GROUP.buckets)
        self._failed_writes = counts(known.LOG_FAILURES)
        self._streams_open = 0
        self._readers_dropped = counts(known.READERS_DROPPED)
        self._standing: Callable[[], Standing] | None = None
        self._store_size: Callable[[], StoreSize | None] | None = None

    def look_at(
        self, standing: Callable[[], Standing], store_size: Callable[[], StoreSize | None] | None = None
    ) -> None:
        """Ask these at each scrape: how things stand, in the loop, and how big the store is, beside it."""
        self._standing = standing
        self._store_size = store_size

    def appended(self, entries: Sequence[Entry]) -> None:
        """Count records; see the port."""
        self._turns.take(entries)

    def appended_to_reading(self, entries: Sequence[ReadingEntry]) -> None:
        """Count records; see the port."""
        self._readings.take(entries)

    def turn_ended(self, cost: TurnCost) -> None:
        """Count a turn; see the port."""
        self._turns.take_end(cost)

    def reading_ended(self, cost: ReadingCost) -> None:
        """Count a reading; see the port."""
        self._readings.take_end(cost)

    def decided(self, what: Decided, waited_s: float) -> None:
        """Count a decision; see the port."""
        self._decided[what,] += 1
        self._decision_waits.add(waited_s)

    def admitted(self, work: Work, waited_s: float) -> None:
        """Take note of a wait; see the port."""
        self._gate_waits[work,].add(waited_s)

    def context_filled(self, fill: float) -> None:
        """Take note of a fill; see the port."""
        self._fill.add(fill)

    def committed(self, waited_s: Collection[float], failed: int) -> None:
        """Count writes that were committed together, each with its seconds; called by the store's thread alone."""
        self._groups.add(len(waited_s))
        for seconds in waited_s:
            self._writes.add(seconds)
        self._failed_writes[()] += failed

    def stream_opened(self) -> None:
        """Count a stream."""
        self._streams_open += 1

    def stream_ended(self, *, dropped: bool) -> None:
        """Take note of a stream's end; `dropped` since its reader took nothing."""
        self._streams_open -= 1
        self._readers_dropped[()] += dropped

    async def text(self) -> bytes:
        """Give all of it in Prometheus' text format."""
        # Files are looked at beside the loop.
        size, of_process = await asyncio.to_thread(self._look_at_files)
        standing = None if self._standing is None else self._standing()
        numbers = {**dict(self._counted()), **dict(standing_now(standing, self._streams_open)), **dict(size_now(size))}
        told: list[bytes] = []
        for metric in known.CATALOGUE:
            if metric in numbers:
                told.append(exposed(metric, numbers[metric]))
                # All of them take 5 ms, for which no token should wait; in a thread it would, for the interpreter.
                await asyncio.sleep(0)
        return b"".join([*told, of_process])

    def _look_at_files(self) -> tuple[StoreSize | None, bytes]:
        registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=registry)
        return None if self._store_size is None else self._store_size(), generate_latest(registry)

    def _counted(self) -> Iterator[tuple[Metric, Numbers]]:
        turns, readings, tokens = self._turns, self._readings, self._tokens
        yield known.TURNS, turns.turns
        yield known.TURN_ERRORS, turns.errors
        yield known.TURN_DURATION, turns.durations
        yield known.FIRST_TOKEN, {(): turns.first_tokens}
        yield known.TURNS_RESUMED, turns.resumed
        yield known.COMPLETIONS, tokens.completions
        yield known.TOKENS, tokens.tokens
        yield known.REASONING_TOKENS, tokens.reasoning
        yield known.ATTEMPTS, turns.attempts
        yield known.CONTEXT_FILL, {(): self._fill}
        yield known.CACHE_LOSSES, turns.losses
        yield known.CACHE_LOST_TOKENS, turns.lost_tokens
        yield known.COMPACTIONS, turns.compactions
        yield known.COMPACTION_FREED, turns.freed_tokens
        yield known.GATE_WAIT, self._gate_waits
        yield known.TOOL_CALLS, turns.calls
        yield known.TOOL_CALL_DURATION, turns.call_durations
        yield known.APPROVALS_REQUESTED, turns.requested
        yield known.APPROVALS_DECIDED, self._decided
        yield known.APPROVAL_WAIT, {(): self._decision_waits}
        yield known.READERS_DROPPED, self._readers_dropped
        yield known.READINGS, readings.readings
        yield known.READING_DURATION, readings.durations
        yield known.READING_CHUNKS, readings.chunks
        yield known.READING_GATES, readings.gates
        yield known.LOG_WRITE, {(): self._writes}
        yield known.LOG_GROUP, {(): self._groups}
        yield known.LOG_FAILURES, self._failed_writes
        yield known.BUILD, {(__version__,): 1}
