"""What records of readings add to, and what readings took when they end."""

from __future__ import annotations

from collections.abc import Sequence

from service.adapters.prometheus import catalogue as known
from service.adapters.prometheus.numbers import counts, spreads
from service.adapters.prometheus.token_counts import TokenCounts
from service.core.reading.records import (
    BudgetExceeded,
    GateSet,
    MemoryWritten,
    ParseFailed,
    ReadingEntry,
    ReadingUsage,
)
from service.ports.meter import ReadingCost, Work


class ReadingCounts:
    """Counts what is appended to readings."""

    def __init__(self, tokens: TokenCounts) -> None:
        self._tokens = tokens
        self.readings = counts(known.READINGS)
        self.durations = spreads(known.READING_DURATION)
        self.chunks = counts(known.READING_CHUNKS)
        self.gates = counts(known.READING_GATES)

    def take(self, entries: Sequence[ReadingEntry]) -> None:
        """Count records."""
        for entry in entries:
            match entry.record:
                case GateSet() as gate:
                    self._take_gate(gate)
                case MemoryWritten():
                    self.chunks["used",] += 1
                case BudgetExceeded():
                    self.chunks["budget_exceeded",] += 1
                case ParseFailed():
                    self.chunks["parse_failed",] += 1
                case ReadingUsage(usage=usage):
                    self._tokens.add(usage, Work.READING, usage.completions)
                case _:
                    pass

    def _take_gate(self, gate: GateSet) -> None:
        self.gates["update", "open" if gate.update else "shut"] += 1
        self.gates["exit", "open" if gate.exit else "shut"] += 1
        if not gate.update:
            # Where the gate is open, the memory that follows or its fault counts the chunk.
            self.chunks["unused",] += 1

    def take_end(self, cost: ReadingCost) -> None:
        """Count a reading that has ended."""
        self.readings[cost.outcome,] += 1
        self.durations[cost.outcome,].add(cost.duration_s)
