"""What a metric is: its name, type, unit, and all the values that its labels can have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product


class Kind(StrEnum):
    """Prometheus' type of a metric."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Metric:
    """One metric, as it is scraped and as `docs/metrics.md` tells it.

    `labels` holds for each label all the values that there are, so that none can be an id or a text of somebody's.
    `buckets` are the upper bounds of a histogram, in `unit`; `query` is an example in PromQL.
    """

    name: str
    kind: Kind
    unit: str
    tells: str
    query: str
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    buckets: tuple[float, ...] = ()

    @property
    def label_sets(self) -> tuple[tuple[str, ...], ...]:
        """All combinations of the labels' values, in the order of the labels."""
        return tuple(product(*self.labels.values()))


def counter(name: str, unit: str, tells: str, query: str, **labels: Iterable[str]) -> Metric:
    """Describe a number that only grows, until the process ends."""
    return Metric(name=name, kind=Kind.COUNTER, unit=unit, tells=tells, query=query, labels=_values(labels))


def gauge(name: str, unit: str, tells: str, query: str, **labels: Iterable[str]) -> Metric:
    """Describe a number as it is at the moment of the scrape."""
    return Metric(name=name, kind=Kind.GAUGE, unit=unit, tells=tells, query=query, labels=_values(labels))


def histogram(
    name: str, unit: str, tells: str, query: str, buckets: tuple[float, ...], **labels: Iterable[str]
) -> Metric:
    """Describe how numbers are spread over buckets, with their sum and their count."""
    return Metric(
        name=name, kind=Kind.HISTOGRAM, unit=unit, tells=tells, query=query, labels=_values(labels), buckets=buckets
    )


def _values(labels: dict[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(map(str, values)) for name, values in labels.items()}
