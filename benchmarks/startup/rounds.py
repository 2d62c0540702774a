"""What single rounds gave, put together as figures. Above: the benchmarks. Below: `results`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.results import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One value of one round, in this unit; the words are those of a `Figure`."""

    measure: str
    unit: str
    value: float
    conditions: str = ""
    subject: str = "turnkeeper"


def figures(benchmark: str, rounds: Iterable[Sequence[Measured]]) -> list[Figure]:
    """Put the values of all rounds together, in the order in which they came first."""
    values: dict[tuple[str, str, str, str], list[float]] = {}
    for values_of_round in rounds:
        for one in values_of_round:
            values.setdefault((one.subject, one.measure, one.unit, one.conditions), []).append(one.value)
    return [
        Figure(
            benchmark=benchmark,
            subject=subject,
            measure=measure,
            unit=unit,
            rounds=tuple(found),
            conditions=conditions,
        )
        for (subject, measure, unit, conditions), found in values.items()
    ]
