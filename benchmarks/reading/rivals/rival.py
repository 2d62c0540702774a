"""What every way to answer has in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from benchmarks.reading.placing import Span
from benchmarks.reading.spent import Meter
from benchmarks.reading.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalAnswer:
    """The answer; `relied_on` are the parts of the text that it rests on, none where a rival chooses no parts."""

    text: str
    relied_on: tuple[Span, ...] | None = None


class Rival(Protocol):
    """One way to answer."""

    @property
    def name(self) -> str:
        """Its name in the table."""
        ...

    async def answer(self, task: Task, meter: Meter) -> RivalAnswer:
        """Answer the question, and count on the meter what that takes.

        Raises:
            AttemptFailed: there is no answer.
            DoesNotFit: the text is too long for this way.
        """
        ...


def whole_text(task: Task) -> str:
    """Return all documents of a task as one text."""
    return "\n\n".join(document.text for document in task.documents)
