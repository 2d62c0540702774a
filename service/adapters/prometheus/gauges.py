"""Numbers that are asked for at each scrape."""

from __future__ import annotations

from collections.abc import Iterator

from service.adapters.prometheus import catalogue as known
from service.adapters.prometheus.exposition import Numbers
from service.adapters.prometheus.metric import Metric
from service.ports.meter import Standing, StoreSize


def standing_now(standing: Standing | None, streams_open: int) -> Iterator[tuple[Metric, Numbers]]:
    """Tell how things stand, as far as anybody can be asked."""
    yield known.STREAMS_OPEN, {(): streams_open}
    if standing is None:
        return
    yield (
        known.TURNS_OPEN,
        {
            ("running",): standing.turns_running,
            ("awaiting_approval",): standing.turns_awaiting_approval,
            ("queued",): standing.turns_queued,
        },
    )
    yield known.GATE_PERMITS, {(): standing.permits}
    yield known.GATE_IN_USE, {(): standing.permits_in_use}
    yield known.GATE_WAITING, {(): standing.permits_waited_for}
    yield known.APPROVALS_PENDING, {(): standing.approvals_pending}
    yield known.APPROVAL_OLDEST, {(): standing.oldest_approval_age_s}
    yield known.READINGS_OPEN, {(): standing.readings_open}


def size_now(size: StoreSize | None) -> Iterator[tuple[Metric, Numbers]]:
    """Tell how big the store is, where it has files."""
    if size is not None:
        yield known.STORE_SIZE, {("database",): size.database_bytes, ("wal",): size.wal_bytes}
        yield known.STORE_FREE, {(): size.free_bytes}
