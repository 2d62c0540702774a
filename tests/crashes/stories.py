"""What a story is that the service is killed in: it is begun, gone on with in each life, and judged when it is over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import httpx

from service.core.json_types import JsonObject
from tests.crashes.kill_points import KillPoint, Moments
from tests.crashes.service_process import ServiceProcess
from tests.crashes.watched_fakes import WatchedLlama, WatchedPort


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What all stories of a chain are played on.

    `heads` are the lines to be kept of the logs that were left; `wholes` are the logs of readings in which nothing
    was killed, by scenario.
    """

    service: ServiceProcess
    llama: WatchedLlama
    port: WatchedPort
    moments: Moments
    heads: list[str] = field(default_factory=list[str])
    wholes: dict[str, list[JsonObject]] = field(default_factory=dict[str, list[JsonObject]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of a story: all that is wrong, its log, and what is worth counting."""

    faults: Sequence[str]
    log: Sequence[JsonObject]
    sent_again: int = 0
    counted: Counter[str] = field(default_factory=Counter[str])


class Story(Protocol):
    """Something that clients have the service do; a lost connection is a `TransportError`, a fault an assertion."""

    @property
    def held(self) -> KillPoint | None:
        """Where it waits in its first life until it says that it may go on."""
        ...

    async def begin(self, http: httpx.AsyncClient) -> None:
        """Play it for the first time, to its end."""
        ...

    async def go_on(self, http: httpx.AsyncClient) -> None:
        """Play it once more, to its end: what was done already must have been kept."""
        ...

    async def died(self) -> None:
        """Take note of what the store holds, between two lives."""
        ...

    async def logs(self) -> Sequence[str]:
        """Name the sessions and readings that belong to it, as the store's file holds them."""
        ...

    async def look(self, http: httpx.AsyncClient) -> Told:
        """Judge it when it is over."""
        ...
