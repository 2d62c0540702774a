"""Puts the parts of this package together over any ports: the same wiring for the service and for its tests."""

from __future__ import annotations

from service.access.gate import Gate
from service.access.keyed_requests import KeyedRequests
from service.access.model_server import ModelServer
from service.access.owner_places import OwnerPlaces
from service.access.presence import ServerPresence
from service.core.ids import ReadingId
from service.core.owner_bounds import OwnerBounds
from service.ports import Clock, Ids, Llama, Meter, ReadingLog, Tracer
from service.readings.asking import ReadingAsking
from service.readings.feed import ReadingFeeds
from service.readings.going import GoingReadings
from service.readings.planner import ReadingPlanner
from service.readings.readings import Readings
from service.readings.runner import ReadingRunner


def assemble_readings(
    *,
    log: ReadingLog,
    llama: Llama,
    clock: Clock,
    ids: Ids,
    meter: Meter,
    tracer: Tracer,
    gate: Gate,
    server: ModelServer,
    presence: ServerPresence,
    model: str | None,
    retry_attempts: int,
    bounds: OwnerBounds,
) -> Readings:
    """Wire readings over these ports and over what they share with the turns."""
    feeds = ReadingFeeds()
    places: OwnerPlaces[ReadingId] = OwnerPlaces()
    asking = ReadingAsking(llama, server, gate, presence, clock, ids, meter, retry_attempts=retry_attempts)
    planner = ReadingPlanner(llama, server, presence, asking, log, ids)
    runner = ReadingRunner(planner, asking, server, log, clock)
    return Readings(
        log=log,
        clock=clock,
        ids=ids,
        feeds=feeds,
        planner=planner,
        going=GoingReadings(log, clock, meter, tracer, feeds, runner, places),
        keyed=KeyedRequests(log.keyed_reading),
        model=model,
        places=places,
        bounds=bounds,
        tracer=tracer,
    )
