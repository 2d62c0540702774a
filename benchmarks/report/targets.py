"""What is to be reached, how it is computed from the figures, and whether it is.

Above: the command line and the page. Below: the results, and what the overhead benchmark calls its measures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.overhead import measures
from benchmarks.overhead.measures import Measure
from benchmarks.overhead.modes import PACED_FEW, PACED_MANY
from benchmarks.report.numbers import written
from benchmarks.results import Figure, Results

OWN = "turnkeeper"
NOT_PEERS = ("direct", "nginx", OWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A value in the unit of its target, and the figures that it comes from, in words."""

    value: float
    workings: str


Compute = Callable[[Results], Outcome | None]
"""Gives None where a figure is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A bound on a value; `stretch` is the better bound that one would like to reach."""

    measure: str
    bound: float
    unit: str
    compute: Compute
    at_most: bool = True
    stretch: float | None = None

    def is_met(self, outcome: Outcome, bound: float | None = None) -> bool:
        """Say whether a value lies within the bound, or within another one."""
        wanted = self.bound if bound is None else bound
        return outcome.value <= wanted if self.at_most else outcome.value >= wanted

    def written(self, outcome: Outcome) -> str:
        """Write a value in the unit of the target, and what it comes from."""
        workings = f" ({outcome.workings})" if outcome.workings else ""
        return f"{written(outcome.value)} {self.unit}{workings}"

    def bound_in_words(self) -> str:
        """Write the bound, and the better one."""
        sign = "≤" if self.at_most else "≥"
        stretch = "" if self.stretch is None else f"; better {sign} {written(self.stretch)}"
        return f"{sign} {written(self.bound)} {self.unit}{stretch}"


def verdict(target: Target, outcome: Outcome | None) -> str:
    """Say in a word or two what came of a target."""
    if outcome is None:
        return "not measured"
    if not target.is_met(outcome):
        return "**not met**"
    if target.stretch is not None and target.is_met(outcome, target.stretch):
        return "met, the better one too"
    return "met"


def _figure(results: Results, benchmark: str, subject: str, measure: Measure, conditions: str | None) -> Figure | None:
    return results.find(benchmark, subject, measure.name, conditions)


def _own(benchmark: str, measure: Measure, conditions: str | None = None) -> Compute:
    def compute(results: Results) -> Outcome | None:
        own = _figure(results, benchmark, OWN, measure, conditions)
        return None if own is None else Outcome(value=own.value, workings="")

    return compute


def _over(
    other: str, benchmark: str, measure: Measure, conditions: str | None = None, *, percent: bool = False
) -> Compute:
    """Divide ours by another's."""

    def compute(results: Results) -> Outcome | None:
        own, others = (_figure(results, benchmark, name, measure, conditions) for name in (OWN, other))
        if own is None or others is None or not others.value:
            return None
        workings = f"{written(own.value)} / {written(others.value)} {own.unit}"
        return Outcome(value=own.value / others.value * (100 if percent else 1), workings=workings)

    return compute


def _added(benchmark: str, measure: Measure, conditions: str | None = None, *, divisor: float = 1) -> Compute:
    """Subtract what the upstream takes itself."""

    def compute(results: Results) -> Outcome | None:
        own, direct = (_figure(results, benchmark, name, measure, conditions) for name in (OWN, "direct"))
        if own is None or direct is None:
            return None
        workings = f"{written(own.value)} - {written(direct.value)} {own.unit}"
        return Outcome(value=(own.value - direct.value) / divisor, workings=workings)

    return compute


def _least_peer(benchmark: str, measure: Measure, conditions: str | None = None) -> Compute:
    """Divide the least of all peers by ours."""

    def compute(results: Results) -> Outcome | None:
        own = _figure(results, benchmark, OWN, measure, conditions)
        peers = [
            figure
            for figure in results.figures
            if (figure.benchmark, figure.measure) == (benchmark, measure.name)
            and figure.subject not in NOT_PEERS
            and conditions in (None, figure.conditions)
        ]
        if own is None or not own.value or not peers:
            return None
        least = min(peers, key=lambda figure: figure.value)
        workings = f"{least.subject}: {written(least.value)} / {written(own.value)} {own.unit}"
        return Outcome(value=least.value / own.value, workings=workings)

    return compute


def _growth_of_turns(results: Results) -> Outcome | None:
    """Divide the dearest turn by the one in the shortest session, which was measured first."""
    turns = [f for f in results.figures if (f.benchmark, f.measure) == ("growth", measures.CPU_PER_TURN.name)]
    if len(turns) < 2:
        return None
    dearest = max(turns, key=lambda figure: figure.value)
    workings = f"{written(dearest.value)} / {written(turns[0].value)} {dearest.unit}"
    return Outcome(value=dearest.value / turns[0].value, workings=workings)


_EVALUATED_AGAIN = Measure("prompt tokens evaluated again that need not be", "%")

TARGETS = (
    Target(
        measure="CPU per token, 64 paced streams, over that of nginx",
        bound=3,
        stretch=2.5,
        unit="times",
        compute=_over("nginx", "paced", measures.CPU_PER_TOKEN, PACED_MANY.conditions),
    ),
    Target(
        measure="CPU per token of every peer over ours, 16 paced streams",
        bound=5,
        unit="times",
        at_most=False,
        compute=_least_peer("paced", measures.CPU_PER_TOKEN, PACED_FEW.conditions),
    ),
    Target(
        measure="added latency over direct, 64 paced streams, p50",
        bound=0.15,
        unit="ms",
        compute=_added("paced", measures.LATENCY_P50, PACED_MANY.conditions, divisor=1000),
    ),
    Target(
        measure="added latency over direct, 64 paced streams, p99",
        bound=0.5,
        unit="ms",
        compute=_added("paced", measures.LATENCY_P99, PACED_MANY.conditions, divisor=1000),
    ),
    Target(
        measure="flood of 16 streams, of what nginx lets through",
        bound=60,
        stretch=90,
        unit="%",
        at_most=False,
        compute=_over("nginx", "flood", measures.TOKENS_PER_SECOND, percent=True),
    ),
    Target(
        measure="CPU per turn of 16 tokens, durable log on",
        bound=1.5,
        unit="ms",
        compute=_own("short_turns", measures.CPU_PER_TURN),
    ),
    Target(
        measure="CPU per turn of every peer over ours",
        bound=5,
        unit="times",
        at_most=False,
        compute=_least_peer("short_turns", measures.CPU_PER_TURN),
    ),
    Target(
        measure="first token over direct, unloaded, p50",
        bound=1.5,
        unit="ms",
        compute=_added("first_token", measures.FIRST_TOKEN_P50),
    ),
    Target(
        measure="memory per open stream",
        bound=48,
        unit="KiB",
        compute=_own("memory", measures.MEMORY_PER_STREAM),
    ),
    Target(
        measure="streams at 50 tokens/s with p99 ≤ 50 ms, on one core",
        bound=500,
        unit="streams",
        at_most=False,
        compute=_own("most_streams", measures.MOST_STREAMS),
    ),
    Target(
        measure="prompt tokens evaluated again that need not be, real llama-server",
        bound=2,
        unit="%",
        compute=_own("cache", _EVALUATED_AGAIN),
    ),
    Target(
        measure="CPU per turn in the session with the dearest turns over that in the shortest",
        bound=1.2,
        unit="times",
        compute=_growth_of_turns,
    ),
)
