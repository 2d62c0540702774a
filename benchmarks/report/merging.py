"""A run in parts: new figures take the place of those of the same benchmarks, and the others stay.

Above: the command line. Below: the results.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.results import Results


class OtherMachine(Exception):
    """Figures of two machines can't stand in one table."""


def merged(before: Results | None, new: Results) -> Results:
    """Put a run's figures into those of the runs before; time, load and versions are those of the new one.

    Raises:
        OtherMachine: the runs before were made elsewhere.
    """
    if before is None:
        return new
    if before.machine != new.machine:
        raise OtherMachine(f"the figures before are of another machine: {before.machine}")
    run = {figure.benchmark for figure in new.figures}
    kept = tuple(figure for figure in before.figures if figure.benchmark not in run)
    return replace(new, figures=kept + new.figures, versions=before.versions | new.versions)
