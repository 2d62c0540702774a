"""The figures as a table, and what they say of other sizes and machines."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.reading.obedient.counters import Counted
from benchmarks.reading.obedient.rounds import Compared, Measured, NotCompared
from benchmarks.reading.summary import NOTHING, aligned

USELESS_TOKENS = 12
"""What a gated reading writes about a chunk of no use."""

RATIOS = (3, 10, 30)
"""Tokens that a server evaluates in the time in which it writes one: on few cores, on many, and on a graphics card."""

HEADER = (
    "loop",
    "chunk",
    "memory",
    "calls",
    "tokens evaluated",
    "tokens written",
    "seconds",
    "evaluating s",
    "writing s",
    "x seconds",
    "x server",
    *(f"x at {ratio}" for ratio in RATIOS),
)

EXPLANATION = """\
Dictated is what the model writes, token by token, and so what each gate says: yes at the evidence alone, a memory of
the same size in both loops, whole and anew at each chunk where it is always updated. Real are the server, the
evaluation of each prompt, its cache, the sampling of each token, the service and its log. Nothing here says what a
model would write if it were left to itself.

x seconds: how many times as long always updating took, by the clock; x server: by the time that the server counted for
itself. Both are of this machine, and a little in favour of the gates, since a dictated token takes longer than a free
one. x at N: by the tokens alone, on a server that evaluates N tokens in the time in which it writes one. 1 is no gain,
below 1 the gates lose."""


def table(results: Sequence[Compared | NotCompared]) -> str:
    """Return two rows for each size, of which the second says how many times as long it took."""
    return aligned([HEADER, *(row for result in results for row in _rows(result))])


def times_at(result: Compared, ratio: float) -> float:
    """Return how many times as long always updating takes where `ratio` tokens are evaluated as one is written."""
    gated, always = result.gated.total, result.always.total
    return (always.evaluated / ratio + always.written) / (gated.evaluated / ratio + gated.written)


def least_memory(chunk: int, *, times: float, tokens_evaluated_per_written: float, reworded: bool) -> float:
    """Return from how many tokens of memory on a chunk of no use takes so many `times` as long without a gate.

    With p and w the rates of evaluation and of writing, c the chunk and m the memory: a gated chunk of no use takes
    c/p + 12/w, an ungated one c/p + m/w, and m/p more where the memory is in other words than before.
    """
    written = (times - 1) * chunk / tokens_evaluated_per_written + times * USELESS_TOKENS
    return written / (1 + 1 / tokens_evaluated_per_written) if reworded else written


def outlook(results: Sequence[Compared | NotCompared], *, reworded: bool) -> str:
    """Say from which memory on the gate pays at the rates of each size, and on faster machines."""
    lines = ["A chunk of no use takes 1.5 times as long without a gate from this memory on (docs/readings.md):"]
    for result in results:
        if isinstance(result, Compared):
            own = _rate_of_evaluation(result.gated.total + result.always.total) / _rate_of_writing(result.free)
            least = [
                f"{least_memory(result.chunk, times=1.5, tokens_evaluated_per_written=ratio, reworded=reworded):.0f}"
                for ratio in (own, 10, 30)
            ]
            lines.append(
                f"- chunk {result.chunk}, memory {result.memory}: {least[0]} tokens here, where {own:.1f} tokens are "
                f"evaluated in the time of one written; {least[1]} where 10 are, {least[2]} where 30 are"
            )
    return "\n".join(lines)


def _rows(result: Compared | NotCompared) -> list[tuple[str, ...]]:
    if isinstance(result, NotCompared):
        sizes = (str(result.chunk), str(result.memory))
        return [(f"not run: {result.why}", *sizes, *[NOTHING] * (len(HEADER) - 3))]
    times = [
        result.always.seconds / result.gated.seconds,
        result.always.server_s / result.gated.server_s,
        *(times_at(result, ratio) for ratio in RATIOS),
    ]
    return [
        _row("gated", result, result.gated, (NOTHING,) * len(times)),
        _row("always update", result, result.always, tuple(f"{each:.2f}" for each in times)),
    ]


def _row(name: str, result: Compared, side: Measured, times: tuple[str, ...]) -> tuple[str, ...]:
    rounds, total = len(side.counts), side.total
    return (
        name,
        str(result.chunk),
        str(result.memory),
        str(side.attempts[0].spent.calls),
        f"{total.evaluated / rounds:,.0f}",
        f"{total.written / rounds:,.0f}",
        f"{side.seconds:.1f}",
        f"{total.evaluating_s / rounds:.1f}",
        f"{total.writing_s / rounds:.1f}",
        *times,
    )


def _rate_of_evaluation(counts: Counted) -> float:
    return counts.evaluated / max(counts.evaluating_s, 0.001)


def _rate_of_writing(counts: Counted) -> float:
    return counts.written / max(counts.writing_s, 0.001)
