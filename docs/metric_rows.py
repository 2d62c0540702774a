"""The page of metrics, from the catalogue of those that are scraped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from service.adapters.prometheus import CATALOGUE, Kind, Metric

_HEAD = """\
# Metrics

Made from `service/adapters/prometheus/catalogue.py` by `make docs`; don't edit it here.

`GET /metrics` tells them in Prometheus' text format. With API keys it wants one of the scope `admin`
([API keys](howto/api-keys.md)):

```sh
curl -s http://127.0.0.1:8000/metrics -H "Authorization: Bearer $KEY"
```

[Docker Compose](howto/deploy-with-compose.md) brings a Prometheus that scrapes them and a Grafana dashboard that shows
them (`--profile monitoring`).

- Counters and histograms begin at 0 with each start of the process. They count records as they are appended to the
  log, so their sums are those of the log; what a log held before is not counted again, and a turn that a restart goes
  on with counts where it ends.
- What each single turn cost is in [the log](logs.md), and not here.
- Gauges are as things stand at the moment of the scrape.
- Labels have the values that are named here and no others: no ids, no names of tools, models or people, no text. Each
  combination is there from the start, with 0.
- A scrape writes some 600 lines in about 5 ms, in pieces between which streams go on; no query is asked of the store.
- `process_*` are those of the Prometheus library: memory, CPU, open files and the start of the process; Linux only.
"""

_GROUPS: tuple[tuple[str, Sequence[str]], ...] = (
    ("Turns", ("turnkeeper_turn", "turnkeeper_first_token")),
    ("The model and its cache", ("turnkeeper_completions", "turnkeeper_tokens", "turnkeeper_reasoning_tokens",
                                 "turnkeeper_attempts", "turnkeeper_context", "turnkeeper_cache",
                                 "turnkeeper_compaction")),
    ("The gate before llama-server", ("turnkeeper_gate",)),
    ("Tools", ("turnkeeper_tool",)),
    ("Approvals", ("turnkeeper_approval",)),
    ("Streams", ("turnkeeper_stream",)),
    ("Readings", ("turnkeeper_reading",)),
    ("The store", ("turnkeeper_log", "turnkeeper_store")),
    ("The build", ("turnkeeper_build",)),
)  # fmt: skip

_TYPES = {Kind.COUNTER: "counter", Kind.GAUGE: "gauge", Kind.HISTOGRAM: "histogram"}


def metrics_page() -> str:
    """Tabulate all metrics by groups, then give a query for each and what is worth an alert."""
    left = list(CATALOGUE)
    lines = [_HEAD]
    for title, beginnings in _GROUPS:
        # The first group that fits has it: `turnkeeper_reasoning_tokens_total` is none of the readings'.
        here = [metric for metric in left if metric.name.startswith(tuple(beginnings))]
        left = [metric for metric in left if metric not in here]
        lines += _group(title, here)
    assert not left, f"these metrics are in no group: {[metric.name for metric in left]}"
    return "\n".join([*lines, *_alerts()])


def _group(title: str, metrics: Sequence[Metric]) -> Iterator[str]:
    yield from (f"## {title}", "", "| metric | type, unit | labels | what it tells |", "|---|---|---|---|")
    yield from map(_row, metrics)
    yield from ("", "```promql", *(metric.query for metric in metrics), "```", "")


def _row(metric: Metric) -> str:
    unit = f", {metric.unit}" if metric.unit else ""
    labels = "<br>".join(_label(metric, name) for name in metric.labels) or "none"
    return f"| `{metric.name}` | {_TYPES[metric.kind]}{unit} | {labels} | {metric.tells} |"


def _label(metric: Metric, name: str) -> str:
    if name == "version":
        return "`version`: the version of the service"
    return f"`{name}`: " + " ".join(f"`{value}`" for value in metric.labels[name])


_ALERTS = {
    "people are waited for": "turnkeeper_approval_oldest_age_seconds > 3600",
    "turns fail": 'sum(rate(turnkeeper_turns_total{outcome="failed"}[10m])) / '
    "sum(rate(turnkeeper_turns_total[10m])) > 0.1",
    "the store does not write": "increase(turnkeeper_log_write_failures_total[5m]) > 0",
    "the disk will be full in a day": "predict_linear(turnkeeper_store_free_bytes[6h], 86400) < 0",
    "llama-server has too few slots": "min_over_time(turnkeeper_gate_waiting[10m]) > 0",
    "prompts are evaluated again and again": "sum(rate(turnkeeper_cache_lost_tokens_total[15m])) / "
    'sum(rate(turnkeeper_tokens_total{kind="evaluated"}[15m])) > 0.5',
    "the service was killed in the middle of turns": "increase(turnkeeper_turns_resumed_total[15m]) > 0",
}


def _alerts() -> Iterator[str]:
    yield from ("## What is worth an alert", "", "| what | when |", "|---|---|")
    yield from (f"| {what} | `{when}` |" for what, when in _ALERTS.items())
    yield ""
