"""A scrape, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterable

import httpx
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

Sample = tuple[str, ...]
"""A sample's name, and its labels as `name=value`, sorted."""


def sample(name: str, **labels: str) -> Sample:
    """Name a sample."""
    return (name, *sorted(f"{label}={value}" for label, value in labels.items()))


async def families(http: httpx.AsyncClient) -> list[Metric]:
    """Scrape, and read what came with Prometheus' own reader."""
    response = await http.get("/metrics")
    assert (response.status_code, response.headers["content-type"].split(";")[0]) == (200, "text/plain")
    return list(text_string_to_metric_families(response.text))


def samples(told: Iterable[Metric]) -> dict[Sample, float]:
    """Give each number of ours."""
    return {
        sample(each.name, **each.labels): each.value
        for family in told
        for each in family.samples
        if each.name.startswith("turnkeeper_")
    }


async def scraped(http: httpx.AsyncClient) -> dict[Sample, float]:
    """Scrape, and give each number of ours."""
    return samples(await families(http))
