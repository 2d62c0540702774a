"""Attempts summed up: a row for each rival, also for those that lose or could not be tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from benchmarks.reading.attempts import Attempt, Outcome
from benchmarks.reading.spent import Spent
from benchmarks.reading.tasks import Kind

NOTHING = "-"

COST_HEADER = (
    "rival",
    "answered",
    "right",
    "misled",
    "calls",
    "prompt tokens evaluated",
    "from cache",
    "output tokens",
    "seconds",
    "evidence used",
    "text used",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The sums over all tasks of one rival."""

    rival: str
    tasks: int
    answered: int
    right: int
    misled: int
    spent: Spent
    seconds: float
    evidence_used: float | None
    text_used: float | None


def rows_of(attempts: Sequence[Attempt]) -> list[Row]:
    """Return a row for each rival, in the order of their first attempts."""
    return [_row(name, [each for each in attempts if each.rival == name]) for name in _names(attempts)]


def cost_table(attempts: Sequence[Attempt]) -> str:
    """Return what each rival spent and how often it was right, as a Markdown table that reads well as it is."""
    return aligned([COST_HEADER, *(_cells(row) for row in rows_of(attempts))])


def kind_table(attempts: Sequence[Attempt]) -> str:
    """Return right answers of all tasks of each kind."""
    kinds = [kind for kind in Kind if any(each.kind is kind for each in attempts)]
    lines = [("rival", *(str(kind).replace("_", " ") for kind in kinds))]
    for name in _names(attempts):
        own = [each for each in attempts if each.rival == name]
        lines.append((name, *(_right_of([each for each in own if each.kind is kind]) for kind in kinds)))
    return aligned(lines)


def aligned(lines: Sequence[tuple[str, ...]]) -> str:
    """Return a Markdown table whose columns are aligned; all but the first are numbers."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = tuple("-" * width if at == 0 else "-" * (width - 1) + ":" for at, width in enumerate(widths))
    return "\n".join(_line(cells, widths) for cells in (lines[0], rule, *lines[1:]))


def notes(attempts: Sequence[Attempt]) -> list[str]:
    """Return a line for each attempt without an answer."""
    return [f"{each.rival}, {each.task}: {each.outcome}: {each.note}" for each in attempts if each.note]


def _names(attempts: Sequence[Attempt]) -> list[str]:
    return list(dict.fromkeys(each.rival for each in attempts))


def _row(name: str, attempts: list[Attempt]) -> Row:
    return Row(
        rival=name,
        tasks=len(attempts),
        answered=sum(each.outcome is Outcome.ANSWERED for each in attempts),
        right=sum(each.right for each in attempts),
        misled=sum(each.misled for each in attempts),
        spent=reduce(Spent.__add__, (each.spent for each in attempts)),
        seconds=sum(each.seconds for each in attempts),
        evidence_used=_mean(each.evidence_used for each in attempts),
        text_used=_mean(each.text_used for each in attempts),
    )


def _cells(row: Row) -> tuple[str, ...]:
    """Return a row's cells. Right answers are counted among all tasks: no answer is no right one."""
    answered = f"{row.answered} of {row.tasks}"
    if not row.answered and not row.spent.calls:
        return (row.rival, answered, *([NOTHING] * (len(COST_HEADER) - 2)))
    spent = row.spent
    return (
        row.rival,
        answered,
        f"{row.right} of {row.tasks} ({row.right / row.tasks:.0%})",
        str(row.misled),
        *(f"{number:,}" for number in (spent.calls, spent.evaluated_tokens, spent.cached_tokens, spent.output_tokens)),
        f"{row.seconds:.1f}",
        _share(row.evidence_used),
        _share(row.text_used),
    )


def _mean(shares: Iterable[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) if known else None


def _share(share: float | None) -> str:
    return NOTHING if share is None else f"{share:.0%}"


def _right_of(attempts: list[Attempt]) -> str:
    if not any(each.outcome is Outcome.ANSWERED for each in attempts):
        return NOTHING
    return f"{sum(each.right for each in attempts)} of {len(attempts)}"


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    padded = (
        cell.ljust(width) if at == 0 else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return f"| {' | '.join(padded)} |"
