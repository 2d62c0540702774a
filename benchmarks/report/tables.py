"""Figures as tables: a line for each subject under each condition, a column for each measure.

Above: the command line and the page. Below: the results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.report.numbers import written
from benchmarks.results import Figure

_NOT_MEASURED = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What is the same in all lines stands in the caption; the first `words` columns hold words, the others numbers."""

    caption: str
    head: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    words: int


def tables_of(figures: Sequence[Figure]) -> list[Table]:
    """Lay the figures of one benchmark out; what was measured alike stands in one table."""
    measured: dict[tuple[str, str], dict[tuple[str, str], Figure]] = {}
    for figure in figures:
        line = measured.setdefault((figure.subject, figure.conditions), {})
        line[figure.measure, figure.unit] = figure
    alike: dict[tuple[tuple[str, str], ...], list[tuple[str, str]]] = {}
    for line, found in measured.items():
        alike.setdefault(tuple(found), []).append(line)
    return [_table(columns, lines, measured) for columns, lines in alike.items()]


def as_markdown(table: Table) -> str:
    """Write a table so that it can be read as it is, too."""
    rows = [table.head, *table.lines]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.head))]
    rule = [
        "-" * (width + 2) if column < table.words else "-" * (width + 1) + ":" for column, width in enumerate(widths)
    ]
    head, *lines = [_line(row, widths, table.words) for row in rows]
    caption = [f"{table.caption}:", ""] if table.caption else []
    return "\n".join([*caption, head, "|" + "|".join(rule) + "|", *lines])


def _table(
    columns: Sequence[tuple[str, str]],
    lines: Sequence[tuple[str, str]],
    measured: dict[tuple[str, str], dict[tuple[str, str], Figure]],
) -> Table:
    shows_conditions = len({conditions for _, conditions in lines}) > 1
    # A table without words would have no first column.
    shows_subjects = len({subject for subject, _ in lines}) > 1 or not shows_conditions
    same = _in_all([conditions for _, conditions in lines])
    caption = ", ".join(same)

    def words(line: tuple[str, str]) -> Iterator[str]:
        if shows_subjects:
            yield line[0]
        if shows_conditions:
            yield ", ".join(part for part in _parts(line[1]) if part not in same)

    named = [name for name, shown in (("subject", shows_subjects), ("conditions", shows_conditions)) if shown]
    return Table(
        # The first letter alone: the others may be a unit's.
        caption=caption[:1].upper() + caption[1:],
        head=(*named, *(f"{measure}, {unit}" for measure, unit in columns)),
        lines=tuple((*words(line), *(_value(measured[line].get(column)) for column in columns)) for line in lines),
        words=len(named),
    )


def _in_all(conditions: Sequence[str]) -> list[str]:
    return [part for part in _parts(conditions[0]) if all(part in _parts(others) for others in conditions)]


def _parts(conditions: str) -> list[str]:
    # The commas of numbers have no space behind them.
    return [part for part in re.split(r"[,;] ", conditions) if part]


def _value(figure: Figure | None) -> str:
    return _NOT_MEASURED if figure is None else written(figure.value)


def _line(row: Sequence[str], widths: Sequence[int], words: int) -> str:
    cells = (
        cell.ljust(width) if column < words else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "| " + " | ".join(cells) + " |"
