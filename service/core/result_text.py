"""How a tool call ended, in the words that the model gets, with its labels (section 8, X6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from service.core.labels import DataClass, higher_class
from service.core.records import Limit, ResultStatus, ToolResult
from service.core.text_boundary import boundary_before
from service.core.tool_port import AnswerStatus, ToolAnswer, ToolSpec

CANCELLED_TEXT = "The call was cancelled while it ran; it may have taken effect."
"""Of a call that was in flight when its turn was cancelled (T13)."""

INTERRUPTED_TEXT = "The service stopped while this call was in flight: it is unknown whether the call ran."
"""Of a call in flight that a restart found without a result (S4)."""

CANCELLED_APPROVAL_TEXT = "The call was cancelled before anyone had decided on it; it was not run."
"""Of a call that waited for a person when its turn ended (T13)."""

ASKED_AGAIN_TEXT = "the tool port asked for an approval although the call was approved"
"""Of an approved call that the port won't run all the same (A1b)."""

QUOTED_CHARACTERS = 200
"""How much of an earlier result a repeat is told (T7)."""

CUT_MARK = "\n[The tool's answer was too large; the rest of it was not read.]"
"""Ends a text of which the port sent more than is read (X2)."""

_ENDED_BADLY = {
    AnswerStatus.FAILED: (ResultStatus.FAILED, "The tool failed"),
    AnswerStatus.DENIED: (ResultStatus.DENIED, "The call was denied"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutcome:
    """The end of a call: the status of its record and the whole text for the model, not capped yet (T9).

    `cut` says that the port's answer was larger than what is read of it (X2). `limit` is the limit of the turn that
    kept the call from running. `fence` is the one to take for an untrusted text; None draws a new one. Texts of our
    own are public and trusted (X6).
    """

    status: ResultStatus
    text: str
    data_class: DataClass = DataClass.PUBLIC
    untrusted: bool = False
    cut: bool = False
    limit: Limit | None = None
    fence: str | None = None

    def with_beginning(self, words: str) -> CallOutcome:
        """Give the same end with words in front of its text."""
        return replace(self, text=words + self.text)


def outcome_of(answer: ToolAnswer, spec: ToolSpec) -> CallOutcome:
    """Put the port's answer into words; a result has the stricter labels of spec and answer (X6).

    A port that asks for an approval was given it before this: it is asked once (A1b).
    """
    if answer.status is AnswerStatus.PENDING_APPROVAL:
        return CallOutcome(status=ResultStatus.FAILED, text=_said("The tool failed", ASKED_AGAIN_TEXT))
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


def not_run(reason: str, *, limit: Limit | None = None) -> CallOutcome:
    """End a call that was never sent; `reason` completes the sentence."""
    return CallOutcome(status=ResultStatus.NOT_RUN, text=f"The call was not run: {reason}.", limit=limit)


def over_tool_limit(allowed: int) -> CallOutcome:
    """End a call of the batch that came after the last allowed one (T5)."""
    reason = f"this turn's limit on batches of tool calls was reached (tool_iterations: {allowed})"
    return not_run(reason, limit=Limit.TOOL_ITERATIONS)


def over_repeat_limit() -> CallOutcome:
    """End a call of a batch in which the same call came for the third time (T7)."""
    reason = (
        "one of these calls was made for the third time with the same arguments, and its result would be the same "
        "(limit repeated_call, setting repeat_detection)"
    )
    return not_run(reason, limit=Limit.REPEATED_CALL)


def over_denial_limit(allowed: int) -> CallOutcome:
    """End a call of a batch in which a denied action was asked for once too often (A4)."""
    reason = f"what was denied was asked for again (limit denied_repeatedly, setting denied_repeats: {allowed})"
    return not_run(reason, limit=Limit.DENIED_REPEATEDLY)


def repeated(earlier: ToolResult) -> CallOutcome:
    """End a call that was made before in this turn: quote the earlier result, with its labels and fence (T7, X6)."""
    quoted = earlier.content[: boundary_before(earlier.content, QUOTED_CHARACTERS)]
    more = "…" if len(quoted) < len(earlier.content) else ""
    text = (
        f"This call was made before in this turn with the same arguments (call {earlier.call}), so it was not run "
        f"again (repeat_detection). Its result ({earlier.status}) was: {quoted}{more}"
    )
    return CallOutcome(
        status=ResultStatus.REPEATED,
        text=text,
        data_class=earlier.data_class,
        untrusted=earlier.untrusted,
        fence=earlier.fence,
    )


def denied_again(first: ToolResult, *, limit: Limit | None = None) -> CallOutcome:
    """End a call of an action that was denied before in this turn, in the words of that denial (A4)."""
    return CallOutcome(status=ResultStatus.DENIED, text=first.content, limit=limit)


def nothing_to_read(call: int) -> CallOutcome:
    """End a `read_result` of a call whose result was not cut, or that isn't there (T9)."""
    text = f"There is nothing to read on in call {call}: only results that were cut can be, and they name their call."
    return CallOutcome(status=ResultStatus.FAILED, text=text)


def cancelled() -> CallOutcome:
    """End a call that was in flight when its turn was cancelled (T13)."""
    return CallOutcome(status=ResultStatus.CANCELLED, text=CANCELLED_TEXT)


def cancelled_approval() -> CallOutcome:
    """End a call that waited for a person when its turn ended (T13)."""
    return CallOutcome(status=ResultStatus.CANCELLED, text=CANCELLED_APPROVAL_TEXT)


def handed_over(agent: str) -> CallOutcome:
    """End a call beside one by which another agent took over (G2)."""
    return not_run(f"this step was handed over to {agent}")


def too_deep(most: int) -> CallOutcome:
    """End a handoff from a session that is handed over to too deeply itself (G2)."""
    text = f"The handoff was not made: agents hand over to one another at most {most} times in a row."
    return CallOutcome(status=ResultStatus.FAILED, text=text)


def stopped(reason: str) -> CallOutcome:
    """End a call that was in flight when a limit ended its turn; `reason` is a clause (T12, T13)."""
    text = f"The call was stopped while it ran, because {reason}; it may have taken effect."
    return CallOutcome(status=ResultStatus.CANCELLED, text=text)


def interrupted() -> CallOutcome:
    """End a call in flight of which a restart can't know whether it ran (S4)."""
    return CallOutcome(status=ResultStatus.INTERRUPTED, text=INTERRUPTED_TEXT)


def _said(beginning: str, words: str) -> str:
    return f"{beginning}: {words}" if words.strip() else f"{beginning}."
