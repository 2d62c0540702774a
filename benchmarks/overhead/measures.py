"""What is measured, by name and unit.

Above: the modes, which measure, and the report, which computes with the figures. Below: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """A name as it stands in tables, and its unit."""

    name: str
    unit: str


Values = dict[Measure, float]
"""What one subject gave in one round."""

CPU_PER_TOKEN = Measure("CPU per token", "µs")
CPU_PER_TURN = Measure("CPU per turn", "ms")
LATENCY_P50 = Measure("latency p50", "µs")
LATENCY_P99 = Measure("latency p99", "µs")
DELIVERED = Measure("tokens delivered", "%")
TOKENS_PER_SECOND = Measure("throughput", "tokens/s")
TURNS_PER_SECOND = Measure("throughput", "turns/s")
FIRST_TOKEN_P50 = Measure("first token p50", "ms")
FIRST_TOKEN_P99 = Measure("first token p99", "ms")
MEMORY_PER_STREAM = Measure("memory per open stream", "KiB")
MEMORY_AT_START = Measure("memory before", "MiB")
MOST_STREAMS = Measure("most streams", "streams")
