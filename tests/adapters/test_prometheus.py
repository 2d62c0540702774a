"""Metrics keep to Prometheus' rules: names, units, few labels with few values, a text that its reader takes (P5)."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from docs.metric_rows import metrics_page
from service.adapters.prometheus import CATALOGUE, Kind, Metric, PrometheusMeter
from service.ports.meter import Standing, StoreSize, Work

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"turnkeeper_[a-z]+(_[a-z]+)*")
LABELS = {
    *("outcome", "limit", "kind", "state", "work", "reason", "result", "status", "decision", "gate", "file"),
    "version",
}
MOST_VALUES = 20
BASE_UNITS = {"seconds": "_seconds", "bytes": "_bytes", "ratio": "_ratio"}
NOT_BASE = re.compile(r"_(ms|milliseconds|minutes|hours|kb|mb|kib|mib|percent)(_|$)")


@pytest.fixture(params=CATALOGUE, ids=lambda metric: metric.name)
def metric(request: pytest.FixtureRequest) -> Metric:
    return request.param


def test_names_follow_the_conventions(metric: Metric) -> None:
    stem = metric.name.removesuffix("_total")

    assert NAME.fullmatch(metric.name)
    assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER)
    assert not re.search(r"_(count|sum|bucket|created)$", metric.name)
    assert not NOT_BASE.search(metric.name)
    assert stem.endswith(BASE_UNITS.get(metric.unit, ""))
    assert not metric.tells.endswith(".")


def test_labels_are_few_and_none_is_an_id(metric: Metric) -> None:
    assert set(metric.labels) <= LABELS
    assert len(metric.labels) <= 2
    for values in metric.labels.values():
        assert 0 < len(values) == len(set(values)) <= MOST_VALUES
        assert all(re.fullmatch(r"[a-z_]+", value) for value in values) or values == metric.labels.get("version")


def test_buckets_grow_and_only_histograms_have_them(metric: Metric) -> None:
    assert bool(metric.buckets) == (metric.kind is Kind.HISTOGRAM)
    assert list(metric.buckets) == sorted(set(metric.buckets))
    assert len(metric.buckets) <= 12


def test_an_example_asks_for_its_metric_with_labels_that_it_has(metric: Metric) -> None:
    assert metric.name in metric.query
    for name, values in re.findall(r'(\w+)=~?"([^"]*)"', metric.query):
        assert set(values.split("|")) <= set(metric.labels[name])
    for names in re.findall(r"by \(([^)]*)\)", metric.query):
        assert set(names.split(", ")) <= {*metric.labels, "le"}


async def test_all_that_is_scraped_is_in_the_catalogue_with_all_its_labels() -> None:
    meter = PrometheusMeter()
    meter.look_at(lambda: STANDING, lambda: StoreSize(database_bytes=1, wal_bytes=2, free_bytes=3))
    told = {family.name: family for family in text_string_to_metric_families((await meter.text()).decode())}
    ours = {name: family for name, family in told.items() if not name.startswith("process_")}

    assert set(ours) == {metric.name.removesuffix("_total") for metric in CATALOGUE}
    for metric in CATALOGUE:
        family = ours[metric.name.removesuffix("_total")]
        labels = {tuple(each.labels[name] for name in metric.labels) for each in family.samples}
        assert (family.type, labels) == (metric.kind, set(metric.label_sets))


async def test_a_number_belongs_to_the_bucket_whose_bound_it_is() -> None:
    meter = PrometheusMeter()
    for seconds in (0.0, 0.01, 0.011, 299.0, 301.0):
        meter.admitted(Work.TURN, seconds)
    told = text_string_to_metric_families((await meter.text()).decode())
    [family] = [family for family in told if family.name == "turnkeeper_gate_wait_seconds"]
    of_turns = {
        each.labels.get("le", each.name): each.value for each in family.samples if each.labels["work"] == "turn"
    }

    assert (of_turns["0.01"], of_turns["0.1"], of_turns["300.0"], of_turns["+Inf"]) == (2, 3, 4, 5)
    assert of_turns["turnkeeper_gate_wait_seconds_count"] == 5
    assert of_turns["turnkeeper_gate_wait_seconds_sum"] == pytest.approx(600.021)


async def test_writes_are_counted_by_commits_and_each_with_its_time() -> None:
    meter = PrometheusMeter()
    meter.committed([0.002, 0.004, 0.5], 1)
    meter.committed([0.001], 0)
    told = text_string_to_metric_families((await meter.text()).decode())
    found = {each.name: each.value for family in told for each in family.samples if "_log_" in each.name}

    assert found["turnkeeper_log_write_seconds_count"] == 4
    assert found["turnkeeper_log_write_seconds_sum"] == pytest.approx(0.507)
    assert found["turnkeeper_log_commit_writes_count"] == 2
    assert found["turnkeeper_log_commit_writes_sum"] == 4
    assert found["turnkeeper_log_write_failures_total"] == 1


async def test_a_scrape_lets_others_go_on_behind_each_metric() -> None:
    rounds = 0

    async def others() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    meter = PrometheusMeter()
    meter.look_at(lambda: STANDING)
    going_on = asyncio.create_task(others())
    try:
        told = (await meter.text()).decode()
    finally:
        going_on.cancel()

    assert rounds >= told.count("# TYPE turnkeeper_") > 30


def test_the_page_of_metrics_is_what_the_catalogue_says() -> None:
    assert (ROOT / "docs/metrics.md").read_text(encoding="utf-8") == metrics_page()


def test_the_page_names_no_other_metric() -> None:
    known = {metric.name for metric in CATALOGUE}
    named = set(re.findall(r"turnkeeper_[a-z_]+[a-z]", metrics_page()))

    assert {re.sub(r"_(bucket|count|sum)$", "", name) for name in named} == known


STANDING = Standing(
    permits=2,
    permits_in_use=1,
    permits_waited_for=0,
    turns_running=1,
    turns_awaiting_approval=0,
    turns_queued=0,
    approvals_pending=0,
    oldest_approval_age_s=0.0,
    readings_open=0,
)
