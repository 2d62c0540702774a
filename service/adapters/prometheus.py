"""Counts what the log says, as Prometheus reads it (P5, P7).

All but the fill of the context is counted from records as they are appended, so that sums agree with the log.
Labels have few values, all of them the program's own words; no ids.
"""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from service.core.records import Attempt, CacheLoss, Record, StepUsage, ToolResult, TurnFinished

_FILL_BUCKETS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class PrometheusMeter:
    """The port `Meter`, with a registry of its own; `text` is what a scrape gets."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._turns = Counter("turnkeeper_turns", "Turns that ended.", ["outcome", "limit"], registry=registry)
        self._tokens = Counter(
            "turnkeeper_tokens",
            "Tokens of completions: of prompts those found in the cache and those evaluated, and those generated.",
            ["kind"],
            registry=registry,
        )
        self._calls = Counter("turnkeeper_tool_calls", "Tool calls that ended.", ["status"], registry=registry)
        self._attempts = Counter(
            "turnkeeper_attempts", "Attempts at a step that failed and were made again.", ["kind"], registry=registry
        )
        self._losses = Counter(
            "turnkeeper_cache_losses",
            "Completions that found less in the server's cache than the one before had left there.",
            ["reason"],
            registry=registry,
        )
        self._lost_tokens = Counter(
            "turnkeeper_cache_lost_tokens",
            "Tokens that were evaluated again though they had been in the server's cache.",
            ["reason"],
            registry=registry,
        )
        self._fill = Histogram(
            "turnkeeper_context_fill_ratio",
            "How full the slot's context was at the end of a completion, 1 being full.",
            buckets=_FILL_BUCKETS,
            registry=registry,
        )
        self._children: dict[tuple[Counter, tuple[str, ...]], Counter] = {}

    def appended(self, records: Iterable[Record]) -> None:
        """Count records; see the port."""
        for record in records:
            self._count(record)

    def context_filled(self, fill: float) -> None:
        """Take note of a fill; see the port."""
        self._fill.observe(fill)

    def text(self) -> bytes:
        """Give all of it in Prometheus' text format."""
        return generate_latest(self._registry)

    def _of(self, counter: Counter, *labels: str) -> Counter:
        """Give a counter's child; the library's own way to it takes a lock and writes the labels anew each time."""
        child = self._children.get((counter, labels))
        if child is None:
            child = self._children[counter, labels] = counter.labels(*labels)
        return child

    def _count(self, record: Record) -> None:
        match record:
            case StepUsage():
                self._of(self._tokens, "cached").inc(record.cached_tokens)
                self._of(self._tokens, "evaluated").inc(max(0, record.prompt_tokens - record.cached_tokens))
                self._of(self._tokens, "generated").inc(record.completion_tokens)
            case ToolResult(status=status):
                self._of(self._calls, status).inc()
            case Attempt(kind=kind):
                self._of(self._attempts, kind).inc()
            case CacheLoss(reason=reason, lost_tokens=lost_tokens):
                self._of(self._losses, reason).inc()
                self._of(self._lost_tokens, reason).inc(lost_tokens)
            case TurnFinished(outcome=outcome, limit=limit):
                self._of(self._turns, outcome, limit or "none").inc()
            case _:
                pass
