"""The log as the model sees it: messages that only ever grow at their end (P1, P2, P4).

What isn't settled isn't projected: a batch appears when its last result is in, so that a prompt that was sent
once is a prefix of every later one, and the server's cache holds.
"""

from __future__ import annotations

from service.core.baseline import Baseline
from service.core.json_types import JsonObject
from service.core.records import (
    Assistant,
    Outcome,
    Record,
    SessionCreated,
    ToolCall,
    ToolResult,
    TurnFinished,
    User,
)
from service.core.tool_arguments import shown_arguments

CLOSING_TEXT: dict[Outcome, str] = {
    Outcome.ANSWERED: "(I had nothing to say.)",
    Outcome.TURN_LIMIT: "(I stopped here: this turn reached one of its limits before there was an answer.)",
    Outcome.SESSION_FULL: "(I stopped here: there is no room left in my context for an answer.)",
    Outcome.FAILED: "(I could not answer: something failed on my side.)",
    Outcome.CANCELLED: "(I stopped here: this turn was cancelled.)",
}
"""What stands as the assistant's last word of a turn that ended without one, so that roles alternate (P4)."""


class Projection:
    """The messages of one session, grown record by record.

    Feed it every record in order, from `session_created` on.
    """

    def __init__(self) -> None:
        self._messages: list[JsonObject] = []
        self._batch: Assistant | None = None
        self._results: dict[int, ToolResult] = {}

    @property
    def messages(self) -> tuple[JsonObject, ...]:
        """Everything that is settled, in the form of P1."""
        return tuple(self._messages)

    def apply(self, record: Record) -> None:
        """Take the next record of the log."""
        match record:
            case SessionCreated(baseline=baseline):
                self._messages += head(baseline)
            case User(content=content):
                self._messages.append({"role": "user", "content": content})
            case Assistant():
                self._answer(record)
            case ToolResult():
                self._settle(record)
            case TurnFinished(outcome=outcome):
                self._close(outcome)
            case _:
                pass

    def _answer(self, record: Assistant) -> None:
        if record.tool_calls:
            self._batch = record
        elif record.content.strip():
            self._messages.append(_assistant(record))

    def _settle(self, result: ToolResult) -> None:
        batch = self._batch
        if batch is None:
            return
        self._results[result.call] = result
        if len(self._results) < len(batch.tool_calls):
            return
        self._messages.append(_assistant(batch))
        # Results are kept as they arrive and shown in call order (T8).
        self._messages += [result_message(self._results[call.call]) for call in batch.tool_calls]
        self._batch, self._results = None, {}

    def _close(self, outcome: Outcome) -> None:
        # A turn that was cancelled before its message was taken up has nothing to close.
        if self._messages and self._messages[-1]["role"] in ("user", "tool"):
            self._messages.append({"role": "assistant", "content": CLOSING_TEXT[outcome]})


def head(baseline: Baseline) -> list[JsonObject]:
    """Give the messages that stand before the first turn: the system prompt, left out when empty."""
    return [{"role": "system", "content": baseline.system}] if baseline.system else []


def _assistant(record: Assistant) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": record.content}
    if record.reasoning:
        message["reasoning_content"] = record.reasoning
    if record.tool_calls:
        message["tool_calls"] = [_call(call) for call in record.tool_calls]
    return message


def _call(call: ToolCall) -> JsonObject:
    function = {"name": call.name, "arguments": shown_arguments(call.arguments)}
    return {"id": call.tool_call_id, "type": "function", "function": function}


def result_message(result: ToolResult) -> JsonObject:
    """Give a result as the model sees it; an untrusted one stands between its fences (P6)."""
    content = result.content
    if result.fence is not None:
        content = f"<untrusted {result.fence}>\n{content}\n</untrusted {result.fence}>"
    return {"role": "tool", "tool_call_id": result.tool_call_id, "name": result.name, "content": content}
