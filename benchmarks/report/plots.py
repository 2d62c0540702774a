"""Which figures become pictures.

Above: the page. Below: the results, the bars.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.overhead import measures
from benchmarks.overhead.modes import PACED_FEW, PACED_MANY
from benchmarks.report.bars import Bars, Group
from benchmarks.report.targets import OWN
from benchmarks.results import Figure, Results


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A picture of measures of one benchmark, with a group of bars for each subject, or for each of its conditions."""

    name: str
    title: str
    benchmark: str
    measures: tuple[str, ...]
    conditions: str | None = None

    def bars(self, results: Results) -> Bars | None:
        """Give what is to be drawn; None where nothing of it was measured."""
        figures = [
            figure
            for figure in results.figures
            if figure.benchmark == self.benchmark
            and figure.measure in self.measures
            and self.conditions in (None, figure.conditions)
        ]
        if not figures:
            return None
        by_condition = len({figure.subject for figure in figures}) == 1
        names = list(dict.fromkeys(_name(figure, by_condition=by_condition) for figure in figures))
        return Bars(
            title=self.title,
            unit=figures[0].unit,
            series=self.measures,
            groups=tuple(
                Group(
                    name=name,
                    values=self._values([f for f in figures if _name(f, by_condition=by_condition) == name]),
                    own=by_condition or name == OWN,
                )
                for name in names
            ),
        )

    def _values(self, figures: Sequence[Figure]) -> tuple[float | None, ...]:
        found = {figure.measure: figure.value for figure in figures}
        return tuple(found.get(measure) for measure in self.measures)


PLOTS = (
    Plot(
        name="latency",
        title="How late tokens come: 64 streams at 50 tokens/s",
        benchmark="paced",
        measures=(measures.LATENCY_P50.name, measures.LATENCY_P99.name),
        conditions=PACED_MANY.conditions,
    ),
    Plot(
        name="cpu-per-token",
        title="CPU per token: 16 streams at 50 tokens/s",
        benchmark="paced",
        measures=(measures.CPU_PER_TOKEN.name,),
        conditions=PACED_FEW.conditions,
    ),
    Plot(
        name="flood",
        title="Tokens through one core, as fast as they go",
        benchmark="flood",
        measures=(measures.TOKENS_PER_SECOND.name,),
    ),
    Plot(
        name="cpu-per-turn",
        title="CPU per turn of 16 tokens",
        benchmark="short_turns",
        measures=(measures.CPU_PER_TURN.name,),
    ),
    Plot(
        name="first-token",
        title="From the request to the first token, unloaded",
        benchmark="first_token",
        measures=(measures.FIRST_TOKEN_P50.name, measures.FIRST_TOKEN_P99.name),
    ),
    Plot(
        name="memory",
        title="Memory per open stream",
        benchmark="memory",
        measures=(measures.MEMORY_PER_STREAM.name,),
    ),
    Plot(
        name="most-streams",
        title="Streams at 50 tokens/s that one core serves",
        benchmark="most_streams",
        measures=(measures.MOST_STREAMS.name,),
    ),
    Plot(
        name="cache",
        title="Prompt tokens that a real llama-server evaluated again and need not have",
        benchmark="cache",
        measures=("prompt tokens evaluated again that need not be",),
    ),
    Plot(
        name="reading",
        title="How long a reading takes, with dictated replies",
        benchmark="reading",
        measures=("time of a reading", "llama-server's own time"),
    ),
    Plot(
        name="growth-records",
        title="CPU per turn by the length of the session's log",
        benchmark="growth",
        measures=(measures.CPU_PER_TURN.name,),
    ),
    Plot(
        name="growth-sessions",
        title="CPU by the number of sessions in the store",
        benchmark="growth",
        measures=("CPU per create", "CPU per list", "CPU per turn in an old session"),
    ),
    Plot(
        name="growth-followers",
        title="CPU per token and follower by the number of followers",
        benchmark="growth",
        measures=("CPU per token and follower",),
    ),
)


def _name(figure: Figure, *, by_condition: bool) -> str:
    # What differs stands first in the conditions.
    return re.split(r"[,;] ", figure.conditions)[0] if by_condition else figure.subject
