"""Numbers as metric families of Prometheus' own library, which knows the text format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from service.adapters.prometheus.metric import Kind, Metric
from service.adapters.prometheus.numbers import Labels, Spread

Numbers = Mapping[Labels, float] | Mapping[Labels, Spread]
"""Of one metric, by the values of its labels."""


def exposed(metric: Metric, numbers: Numbers) -> bytes:
    """Write one metric in the text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Told(_family(metric, numbers)))
    return generate_latest(registry)


class _Told(Collector):
    """What a registry collects: one family."""

    def __init__(self, family: Family) -> None:
        self._family = family

    def collect(self) -> Iterable[Family]:
        return (self._family,)


def _family(metric: Metric, numbers: Numbers) -> Family:
    names = list(metric.labels)
    if metric.kind is Kind.HISTOGRAM:
        histogram = HistogramMetricFamily(metric.name, f"{metric.tells}.", labels=names)
        for labels, spread in numbers.items():
            assert isinstance(spread, Spread)  # the catalogue says what a metric is
            histogram.add_metric(labels, _buckets(metric, spread), spread.sum)
        return histogram
    made = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    family = made(metric.name, f"{metric.tells}.", labels=names)
    for labels, number in numbers.items():
        assert not isinstance(number, Spread)
        family.add_metric(labels, number)
    return family


def _buckets(metric: Metric, spread: Spread) -> list[tuple[str, float]]:
    # A copy, since another thread may add to it meanwhile: all buckets must be of one moment.
    up_to = accumulate(tuple(spread.in_bucket))
    return list(zip((*map(str, map(float, metric.buckets)), "+Inf"), up_to, strict=True))
