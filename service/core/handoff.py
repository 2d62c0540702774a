"""What a handoff gives to the other agent, and what its end makes of the call (G2, X6).

Above: the runner of handoffs. Below: `records`, `result_text`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.core.json_types import JsonObject
from service.core.labels import DataClass
from service.core.records import HandoffReturned, Limit, Outcome, ResultStatus
from service.core.result_text import CallOutcome

_SPEAKERS = {"user": "The user", "assistant": "The assistant", "tool": "A tool"}

_WHY = {
    Outcome.SESSION_FULL: "its context was full",
    Outcome.FAILED: "it failed",
    Outcome.CANCELLED: "it was cancelled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEnd:
    """How a child's turn ended: the record of it, and what only the child's log tells.

    `why` is a clause that says more than the outcome; labels are those of all that the child's session holds.
    """

    record: HandoffReturned
    limit: Limit | None = None
    why: str | None = None
    data_class: DataClass = DataClass.PUBLIC
    untrusted: bool = False


def outcome_of_child(end: ChildEnd) -> CallOutcome:
    """End the call with the child's answer, which carries the child's labels, or with why there is none."""
    if end.record.outcome is Outcome.ANSWERED and end.record.content is not None:
        return CallOutcome(
            status=ResultStatus.OK, text=end.record.content, data_class=end.data_class, untrusted=end.untrusted
        )
    text = f"The agent ended without an answer: {end.why or _reason(end)}."
    return CallOutcome(status=ResultStatus.FAILED, text=text)


def _reason(end: ChildEnd) -> str:
    if end.record.outcome is None:
        return "its session was deleted"
    if end.record.outcome is Outcome.TURN_LIMIT and end.limit is not None:
        return f"it reached a limit ({end.limit})"
    return _WHY.get(end.record.outcome, "it had nothing to say")


def first_message(message: str, messages: Sequence[JsonObject], carry: int) -> str:
    """Give the child's first user message: what is to be done, and the last `carry` messages as text.

    Text from outside stands between its fences there, as in the messages themselves (P6).
    """
    said = [line for one in messages if one["role"] != "system" for line in _lines(one)]
    carried = said[-carry:] if carry else []
    if not carried:
        return message
    return "\n\n".join([message, "For context, the last messages of the conversation so far:", *carried])


def _lines(message: JsonObject) -> list[str]:
    speaker = _SPEAKERS[message["role"]]
    if message["role"] == "tool":
        return [f"{speaker} ({message['name']}):\n{message['content']}"]
    called = [f"{call['function']['name']}({call['function']['arguments']})" for call in message.get("tool_calls", ())]
    told = "\n".join(part for part in (message["content"], *(f"[called {call}]" for call in called)) if part)
    return [f"{speaker}:\n{told}"]
