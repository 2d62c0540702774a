"""One broken stream by its number: made, read, judged; and made smaller when something is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from service.core.completion_events import Completion
from service.core.errors import ModelFailure
from tests.fuzz.judge import judge, outcome
from tests.fuzz.mutations import broken, cut
from tests.fuzz.seeds import seeds

_SEEDS = seeds()
_BUDGETS = (None, None, 2, 8, 16)
_MOST_TRIALS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A stream in pieces, and the thinking budget of its request."""

    pieces: tuple[bytes, ...]
    budget: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """What is wrong with a case, in its smallest form."""

    number: int
    case: Case
    says: str


def made(seed: int, number: int) -> Case:
    """Make a case; the same numbers give the same one."""
    rng = Random(f"{seed}:{number}")
    return Case(pieces=tuple(cut(rng, broken(rng, _SEEDS))), budget=rng.choice(_BUDGETS))


def check(case: Case) -> str:
    """Read and judge a case, and give in a word how it ended; what is wrong with it is raised, of any type."""
    shown, end = outcome(case.pieces, case.budget)
    judge(b"".join(case.pieces), shown, end, case.budget)
    return _word(end)


def _word(end: Completion | ModelFailure) -> str:
    if isinstance(end, ModelFailure):
        return str(end.kind)
    return ("completion with calls" if end.calls else "completion") + (", estimated" if end.estimated else "")


def defect_of(case: Case) -> str | None:
    """Tell what is wrong with a case, if anything is."""
    try:
        check(case)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def smallest(case: Case, defect: Callable[[Case], str | None] = defect_of) -> Case:
    """Leave out ever smaller parts of a case for as long as something stays wrong with it."""
    whole = Case(pieces=(b"".join(case.pieces),), budget=case.budget)
    if defect(whole) is None:
        # Where the cuts matter each piece is kept as one.
        return Case(
            pieces=tuple(_shrunk(list(case.pieces), lambda p: _is_wrong(p, case.budget, defect))), budget=case.budget
        )
    lines = whole.pieces[0].splitlines(keepends=True)
    lines = _shrunk(lines, lambda parts: _is_wrong([b"".join(parts)], case.budget, defect))
    letters = [bytes([byte]) for byte in b"".join(lines)]
    letters = _shrunk(letters, lambda parts: _is_wrong([b"".join(parts)], case.budget, defect))
    return Case(pieces=(b"".join(letters),), budget=case.budget)


def _is_wrong(pieces: list[bytes], budget: int | None, defect: Callable[[Case], str | None]) -> bool:
    return defect(Case(pieces=tuple(pieces), budget=budget)) is not None


def _shrunk(parts: list[bytes], is_wrong: Callable[[list[bytes]], bool]) -> list[bytes]:
    size, trials = max(1, len(parts) // 2), 0
    while trials < _MOST_TRIALS:
        start, has_shrunk = 0, False
        while start < len(parts):
            rest = parts[:start] + parts[start + size :]
            trials += 1
            if is_wrong(rest):
                parts, has_shrunk = rest, True
            else:
                start += size
        if size == 1 and not has_shrunk:
            break
        size = max(1, size // 2)
    return parts
