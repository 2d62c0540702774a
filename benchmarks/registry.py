"""All benchmarks by name: what `python -m benchmarks` can run.

Above: the command line, and the report, which shows them in this order. Below: the benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable

import benchmarks.cache.run
import benchmarks.growth.run
import benchmarks.log.run
import benchmarks.reading.obedient.run
import benchmarks.startup.run
from benchmarks.overhead.modes import FIRST_TOKEN, FLOOD, MEMORY, MOST_STREAMS, PACED_FEW, PACED_MANY, SHORT_TURNS, Mode
from benchmarks.overhead.rounds import Plan, measure
from benchmarks.results import Figure

Benchmark = Callable[[Plan], list[Figure]]
"""Measures; raises MeasurementFailed when it can't."""


def _overhead(*modes: Mode) -> Benchmark:
    return lambda plan: measure(modes, plan)


BENCHMARKS: dict[str, Benchmark] = {
    "paced": _overhead(PACED_MANY, PACED_FEW),
    "flood": _overhead(FLOOD),
    "short_turns": _overhead(SHORT_TURNS),
    "first_token": _overhead(FIRST_TOKEN),
    "memory": _overhead(MEMORY),
    "most_streams": _overhead(MOST_STREAMS),
    # It counts tokens, of which each round gives the same, and takes minutes.
    "cache": lambda _: benchmarks.cache.run.measure(1),
    # A round takes more than a minute, and its tokens are nearly the same in each.
    "reading": lambda plan: benchmarks.reading.obedient.run.measure(1, say=plan.say),
    "growth": lambda plan: benchmarks.growth.run.measure(plan.rounds),
    "log": lambda plan: benchmarks.log.run.measure(plan.rounds),
    "startup": lambda plan: benchmarks.startup.run.measure(plan.rounds),
}
