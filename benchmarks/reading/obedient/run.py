"""One small size of the comparison as figures of the report. Above: the registry. Below: the comparison."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from benchmarks.overhead.failures import MeasurementFailed
from benchmarks.reading.failures import AttemptFailed, BenchmarkFailed
from benchmarks.reading.obedient.comparison import Comparison, Say, compare_sizes
from benchmarks.reading.obedient.options import ObedientOptions
from benchmarks.reading.obedient.rounds import Compared, Measured, NotCompared
from benchmarks.reading.rivals.always_update import AlwaysUpdate
from benchmarks.results import Figure

NAME = "reading"
SERVICE = "turnkeeper"
RIVAL = AlwaysUpdate.name

OPTIONS = ObedientOptions(
    llama_url=None,
    context=8192,
    # The other core is left to the service and to who measures.
    threads=1,
    tokens=3000,
    chunks=(700,),
    memories=(256,),
    place=0.2,
    rounds=1,
    reworded=False,
    seed=1,
)
"""Takes less than two minutes a round on two cores."""

Compare = Callable[[ObedientOptions, Say], Awaitable[Comparison]]


def _say_nothing(line: str) -> None:
    pass


def measure(rounds: int, *, say: Say = _say_nothing, compare: Compare = compare_sizes) -> list[Figure]:
    """Let both loops read the same text, in turn, so many times.

    Raises:
        MeasurementFailed: there is no llama-server, or a loop did not do what was dictated.
    """
    options = replace(OPTIONS, rounds=rounds)
    try:
        found = anyio.run(compare, options, say)
    except (AttemptFailed, BenchmarkFailed) as error:
        raise MeasurementFailed(str(error)) from error
    figures: list[Figure] = []
    for size in found.sizes:
        if isinstance(size, NotCompared):
            raise MeasurementFailed(size.why)
        conditions = _conditions(size, found, options)
        figures += [*_figures(SERVICE, size.gated, conditions), *_figures(RIVAL, size.always, conditions)]
    return figures


def _conditions(size: Compared, found: Comparison, options: ObedientOptions) -> str:
    return (
        f"a text of {found.text_tokens:,} tokens, the answer behind {100 * options.place:.0f} % of it, chunks of "
        f"{size.chunk} tokens, memories of {size.memory} tokens; {found.facts.model}, --threads {options.threads}"
    )


def _figures(subject: str, side: Measured, conditions: str) -> list[Figure]:
    values: list[tuple[str, str, list[float]]] = [
        ("time of a reading", "s", [each.seconds for each in side.attempts]),
        ("llama-server's own time", "s", [each.server_s for each in side.counts]),
        ("completions", "calls", [each.spent.calls for each in side.attempts]),
        ("prompt tokens evaluated", "tokens", [each.evaluated for each in side.counts]),
        ("tokens written", "tokens", [each.written for each in side.counts]),
    ]
    return [
        Figure(
            benchmark=NAME,
            subject=subject,
            measure=measure,
            unit=unit,
            rounds=tuple(rounds),
            conditions=conditions,
        )
        for measure, unit, rounds in values
    ]
