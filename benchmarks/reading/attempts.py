"""One rival at one task: bounded in time, judged, and kept whatever comes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import anyio

from benchmarks.reading.failures import AttemptFailed, DoesNotFit
from benchmarks.reading.judging import is_misled, is_right
from benchmarks.reading.placing import Span
from benchmarks.reading.rivals.rival import Rival, RivalAnswer
from benchmarks.reading.spent import Meter, Spent
from benchmarks.reading.tasks import Kind, Task


class Outcome(StrEnum):
    """How an attempt ended."""

    ANSWERED = "answered"
    DOES_NOT_FIT = "does not fit"
    TIMED_OUT = "timed out"
    FAILED = "failed"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What came of it.

    `evidence_used` is the share of the task's evidence in the parts that the rival chose; none where it chooses no
    parts, or the task has no evidence. `text_used` is the share of the text in those parts. `note` says
    why there is no answer.
    """

    rival: str
    task: str
    kind: Kind
    outcome: Outcome
    right: bool = False
    misled: bool = False
    answer: str = ""
    spent: Spent = field(default_factory=Spent)
    seconds: float = 0.0
    evidence_used: float | None = None
    text_used: float | None = None
    note: str = ""


async def attempt(rival: Rival, task: Task, *, bound_s: float, clock: Callable[[], float]) -> Attempt:
    """Let a rival answer within a bound; `clock` gives seconds. What goes wrong is the outcome, never an error."""
    meter = Meter()
    answer, outcome, note = None, Outcome.ANSWERED, ""
    began = clock()
    try:
        with anyio.fail_after(bound_s):
            answer = await rival.answer(task, meter)
    except TimeoutError:
        outcome, note = Outcome.TIMED_OUT, f"no answer within {bound_s:g} s"
    except DoesNotFit as error:
        outcome, note = Outcome.DOES_NOT_FIT, str(error)
    except AttemptFailed as error:
        outcome, note = Outcome.FAILED, str(error)
    seconds = clock() - began
    return Attempt(
        rival=rival.name,
        task=task.id,
        kind=task.kind,
        outcome=outcome,
        right=answer is not None and is_right(task, answer.text),
        misled=answer is not None and is_misled(task, answer.text),
        answer="" if answer is None else answer.text,
        spent=meter.spent,
        seconds=seconds,
        evidence_used=_evidence_used(task, answer),
        text_used=_text_used(task, answer),
        note=note,
    )


def not_run(rival: str, task: Task, why: str) -> Attempt:
    """Return what stands in the table for a rival that could not be tried."""
    return Attempt(rival=rival, task=task.id, kind=task.kind, outcome=Outcome.NOT_RUN, note=why)


def _evidence_used(task: Task, answer: RivalAnswer | None) -> float | None:
    if answer is None or answer.relied_on is None or not task.evidence:
        return None
    used = [_covered(span, answer.relied_on) for span in task.evidence]
    return sum(used) / len(used)


def _text_used(task: Task, answer: RivalAnswer | None) -> float | None:
    if answer is None or answer.relied_on is None:
        return None
    # Each part once: a reading goes over a text once, and passages don't overlap.
    used = sum(part.end - part.start for part in set(answer.relied_on))
    return used / sum(len(document.text.encode()) for document in task.documents)


def _covered(evidence: Span, parts: Sequence[Span]) -> bool:
    """Say whether the parts together hold all bytes of the evidence, which may be cut between two of them."""
    at = evidence.start
    for part in sorted((part for part in parts if part.document == evidence.document), key=lambda part: part.start):
        if part.start <= at:
            at = max(at, part.end)
    return at >= evidence.end
