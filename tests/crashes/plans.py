"""Which conversations are played, and where the service is killed in each."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from service.core.json_types import JsonObject
from tests.crashes.kill_points import WRITE_PLACES, KillPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A scenario, and where the service is killed in each of its lives but the last.

    `commit_us` is where in a commit it dies when it is to die `during` one, in microseconds; a `fresh` plan starts
    interpreters of its own. `number` tells it from the others on its store.
    """

    scenario: str
    points: tuple[KillPoint, ...] = ()
    commit_us: int = 0
    fresh: bool = False
    number: int = 0

    @property
    def mark(self) -> str:
        """What its session and its messages are known by."""
        return f"plan-{self.number}"

    def point_in(self, life: int) -> KillPoint | None:
        """Where it is killed in this life, counted from 0; None in the last."""
        return self.points[life] if life < len(self.points) else None

    def __str__(self) -> str:
        return f"{self.scenario}; killed at {', then at '.join(map(str, self.points)) or 'nothing'}"


AGAIN = (
    KillPoint("model: asked", 1),
    KillPoint("model: piece", 4),
    KillPoint("port look: asked", 1),
    KillPoint("shown: content", 2),
    *(KillPoint(f"write {place}: resumed", 1) for place in WRITE_PLACES),
    *(KillPoint(f"write {place}: turn_finished", 1) for place in WRITE_PLACES),
    KillPoint("write inside: tool_result", 1),
    KillPoint("time", 30),
    KillPoint("time", 300),
)
"""Where a service is killed that goes on after a kill."""

AGAIN_IN_READINGS = (
    KillPoint("reader: asked", 1),
    KillPoint("reader: piece", 5),
    KillPoint("reader: end", 1),
    KillPoint("answer: piece", 2),
    KillPoint("tokens: asked", 1),
    KillPoint("reading accepted", 1),
    KillPoint("reading shown: gate", 1),
    *(KillPoint(f"write {place}: usage", nth) for place in WRITE_PLACES for nth in (1, 2)),
    *(KillPoint(f"write {place}: run_end", 1) for place in WRITE_PLACES),
    KillPoint("time", 30),
    KillPoint("time", 300),
)
"""Likewise for a reading."""

_LONGEST_MS = 700
_LONGEST_COMMIT_US = 3_000
_SHARE_OF_PLACES = 0.7
_SHARE_OF_FRESH = 0.05

Catalogue = Mapping[str, Sequence[KillPoint]]
"""All places of each scenario."""


def point_of(text: str) -> KillPoint:
    """Read a point as it is printed."""
    kind, _, nth = text.strip().rpartition(" ")
    return KillPoint("time", int(kind)) if nth == "ms" else KillPoint(kind, int(nth))


def places_of(moments: Counter[str], log: Iterable[JsonObject]) -> Iterator[KillPoint]:
    """Name all places of a conversation that was played without a kill."""
    for kind, times in moments.items():
        for nth in range(1, times + 1):
            yield KillPoint(kind, nth)
    for record_type, times in Counter(record["type"] for record in log).items():
        for nth in range(1, times + 1):
            for place in WRITE_PLACES:
                yield KillPoint(f"write {place}: {record_type}", nth)


def drawn(catalogue: Catalogue, count: int, seed: int, *, fresh: bool = True) -> Iterator[Plan]:
    """Draw plans: most die once at a place of the catalogue, the others at any time or again and again.

    Each scenario is as likely as another. No place of one is drawn twice while others are left.
    """
    chance = random.Random(seed)
    left = {scenario: chance.sample(points, len(points)) for scenario, points in sorted(catalogue.items())}
    for _ in range(count):
        scenario = chance.choice(list(left))
        if left[scenario] and chance.random() < _SHARE_OF_PLACES:
            points = (left[scenario].pop(),)
        else:
            points = _any_points(chance, catalogue[scenario])
        yield Plan(
            scenario=scenario,
            points=points,
            commit_us=chance.randrange(_LONGEST_COMMIT_US),
            fresh=fresh and chance.random() < _SHARE_OF_FRESH,
        )


def _any_points(chance: random.Random, places: Sequence[KillPoint]) -> tuple[KillPoint, ...]:
    is_reading = any(point.kind.startswith("reader: ") for point in places)
    match chance.randrange(4):
        case 0 | 1:
            return (KillPoint("time", chance.randrange(_LONGEST_MS)),)
        case 2:
            again = AGAIN_IN_READINGS if is_reading else AGAIN
            return (chance.choice(places), *chance.choices(again, k=chance.randint(1, 3)))
        case _:
            # So often in vain that a turn is given up; a reading never is.
            return (KillPoint("reader: piece" if is_reading else "model: piece", chance.randint(1, 9)),) * 4
