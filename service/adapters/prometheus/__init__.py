"""What Prometheus scrapes: the sums of the log, what was measured beside it, and how things stand (P5, P7).

From the top down:

    meter.py        the port `Meter`, and the text of a scrape
    turn_counts.py, reading_counts.py   what records of sessions and of readings add to
    token_counts.py   what both add to
    gauges.py       what is asked at each scrape
    exposition.py   numbers as the library's metric families
    numbers.py      counts and spreads: plain attributes and list items, since each turn adds to a dozen of them
    catalogue.py    each metric: name, unit, the values of its labels, what it tells
    metric.py       what a metric is
"""

from service.adapters.prometheus.catalogue import CATALOGUE
from service.adapters.prometheus.meter import PrometheusMeter
from service.adapters.prometheus.metric import Kind, Metric

__all__ = ["CATALOGUE", "Kind", "Metric", "PrometheusMeter"]
