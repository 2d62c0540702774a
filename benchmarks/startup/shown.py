"""Figures as a small table for whoever runs one benchmark alone. Above: the benchmarks. Below: `results`."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.results import Figure

_HEAD = ("subject", "measure", "median", "least", "most", "unit", "conditions")
_RIGHT = (2, 3, 4)


def table(figures: Sequence[Figure]) -> str:
    """Lay figures out in columns, in their order: the median of the rounds, the least and the most."""
    rows = [_HEAD, *(_row(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return "\n".join(_line(row, widths) for row in rows) + "\n"


def _row(figure: Figure) -> tuple[str, ...]:
    values = (figure.value, min(figure.rounds), max(figure.rounds))
    return (figure.subject, figure.measure, *(f"{value:,.4g}" for value in values), figure.unit, figure.conditions)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [
        cell.rjust(width) if place in _RIGHT else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
