"""Numbers that grow. Prometheus' own library takes six calls for each, where a turn has some two dozen of them.

Each number is written by one thread, the loop's or the store's writer; a scrape reads it from another, as it is then.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from service.adapters.prometheus.metric import Metric

Labels = tuple[str, ...]


def counts(metric: Metric) -> dict[Labels, float]:
    """Make the numbers of a counter: 0 for each combination of its labels' values, so that none comes from nowhere."""
    return dict.fromkeys(metric.label_sets, 0)


class Spread:
    """How many numbers fell below each bound, and their sum; the bound belongs to what is below it."""

    __slots__ = ("_bounds", "in_bucket", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self.in_bucket = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, number: float) -> None:
        """Take one more number."""
        self.in_bucket[bisect_left(self._bounds, number)] += 1
        self.sum += number


def spreads(metric: Metric) -> Mapping[Labels, Spread]:
    """Make the spreads of a histogram, one for each combination of its labels' values."""
    return {labels: Spread(metric.buckets) for labels in metric.label_sets}
