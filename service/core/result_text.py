"""How a tool call ended, in the words that the model gets, with its labels (section 8, X6)."""

from __future__ import annotations

from dataclasses import dataclass

from service.core.labels import DataClass, higher_class
from service.core.records import ResultStatus
from service.core.tool_port import AnswerStatus, ToolAnswer, ToolSpec

CANCELLED_TEXT = "The call was cancelled while it ran; it may have taken effect."
"""Of a call that was in flight when its turn was cancelled (T13)."""

INTERRUPTED_TEXT = "The service stopped while this call was in flight: it is unknown whether the call ran."
"""Of a call in flight that a restart found without a result (S4)."""

APPROVAL_TEXT = "This tool asks for an approval, which can't be given here yet; the call was not carried out."
"""Of a call that would have to wait for a person."""

CUT_MARK = "\n[The tool's answer was too large; the rest of it was not read.]"
"""Ends a text of which the port sent more than is read (X2)."""

_ENDED_BADLY = {
    AnswerStatus.FAILED: (ResultStatus.FAILED, "The tool failed"),
    AnswerStatus.DENIED: (ResultStatus.DENIED, "The call was denied"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutcome:
    """The end of a call: the status of its record and the whole text for the model, not capped yet (T9).

    `cut` says that the port's answer was larger than what is read of it (X2). Texts of our own are public and
    trusted (X6).
    """

    status: ResultStatus
    text: str
    data_class: DataClass = DataClass.PUBLIC
    untrusted: bool = False
    cut: bool = False


def outcome_of(answer: ToolAnswer, spec: ToolSpec) -> CallOutcome:
    """Put the port's answer into words; a result has the stricter labels of spec and answer (X6)."""
    if answer.status is AnswerStatus.PENDING_APPROVAL:
        return approval_needed()
    text = answer.text + CUT_MARK if answer.cut else answer.text
    if answer.status is not AnswerStatus.RESULT:
        status, beginning = _ENDED_BADLY[answer.status]
        return CallOutcome(status=status, text=_said(beginning, text), cut=answer.cut)
    return CallOutcome(
        status=ResultStatus.OK,
        text=text,
        data_class=higher_class(spec.data_class, answer.data_class or DataClass.PUBLIC),
        untrusted=spec.untrusted or bool(answer.untrusted),
        cut=answer.cut,
    )


def approval_needed() -> CallOutcome:
    """End a call that needs an approval, whether its spec or the port says so."""
    return CallOutcome(status=ResultStatus.FAILED, text=APPROVAL_TEXT)


def not_run(reason: str) -> CallOutcome:
    """End a call that was never sent; `reason` completes the sentence."""
    return CallOutcome(status=ResultStatus.NOT_RUN, text=f"The call was not run: {reason}.")


def over_tool_limit(limit: int) -> CallOutcome:
    """End a call of the batch that came after the last allowed one (T5)."""
    return not_run(f"this turn's limit on batches of tool calls was reached (tool_iterations: {limit})")


def cancelled() -> CallOutcome:
    """End a call that was in flight when its turn was cancelled (T13)."""
    return CallOutcome(status=ResultStatus.CANCELLED, text=CANCELLED_TEXT)


def interrupted() -> CallOutcome:
    """End a call in flight of which a restart can't know whether it ran (S4)."""
    return CallOutcome(status=ResultStatus.INTERRUPTED, text=INTERRUPTED_TEXT)


def _said(beginning: str, words: str) -> str:
    return f"{beginning}: {words}" if words.strip() else f"{beginning}."
