"""What a benchmark gives: figures of all rounds, with the machine and the versions they belong to, kept as JSON.

Above: the benchmarks, which measure, and the report, which shows. Below: nothing.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One thing measured of one subject, once in each round.

    `benchmark` names what was run, `conditions` say how ("64 streams at 50 tokens/s"), `subject` is who was measured
    ("direct", "nginx", "turnkeeper", a peer), and `unit` is that of `rounds`.
    """

    benchmark: str
    subject: str
    measure: str
    unit: str
    rounds: tuple[float, ...]
    conditions: str = ""

    @property
    def value(self) -> float:
        """The median of the rounds."""
        return median(self.rounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where it was measured."""

    processor: str
    cores: int
    memory_gib: float
    system: str
    python: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """All figures of one run; `begun` is its time in UTC, `load` the machine's load average when it began."""

    begun: str
    machine: Machine
    versions: dict[str, str]
    load: float
    figures: tuple[Figure, ...]

    def find(self, benchmark: str, subject: str, measure: str, conditions: str | None = None) -> Figure | None:
        """Give a figure; None when it was not measured."""
        wanted = (benchmark, subject, measure)
        for figure in self.figures:
            same_conditions = conditions is None or figure.conditions == conditions
            if (figure.benchmark, figure.subject, figure.measure) == wanted and same_conditions:
                return figure
        return None


def write_results(results: Results, file: Path) -> None:
    """Write a run to a file."""
    file.write_text(json.dumps(asdict(results), indent=1) + "\n", encoding="utf-8")


def read_results(file: Path) -> Results:
    """Read what `write_results` wrote.

    Raises:
        OSError: there is no such file.
        ValueError: it is no JSON.
        KeyError: a member is missing.
        TypeError: a member is unknown, or of another type.
    """
    members = cast(dict[str, Any], json.loads(file.read_text(encoding="utf-8")))
    return Results(
        begun=members["begun"],
        machine=Machine(**members["machine"]),
        versions=members["versions"],
        load=members["load"],
        figures=tuple(_figure(figure) for figure in members["figures"]),
    )


def _figure(members: dict[str, Any]) -> Figure:
    rounds = tuple(members["rounds"])
    return Figure(**{name: value for name, value in members.items() if name != "rounds"}, rounds=rounds)
