"""The log as the model sees it: messages that only ever grow at their end (P1, P2, P4, P8).

What isn't settled isn't projected: a batch appears when its last result is in, so that a prompt that was sent
once is a prefix of every later one, and the server's cache holds. The template profile of the baseline, which is
fixed as well, gives the messages the form that the model's template takes.
"""

from __future__ import annotations

from service.core.baseline import Baseline
from service.core.ids import TurnId
from service.core.json_types import JsonObject
from service.core.records import (
    Assistant,
    Limit,
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

LIMIT_TEXT: dict[Limit, str] = {
    Limit.TOOL_ITERATIONS: "too many rounds of tool calls; limit tool_iterations",
    Limit.REPEATED_CALL: "the same call came again and again; limit repeated_call, setting repeat_detection",
    Limit.DENIED_REPEATEDLY: "what was denied was asked for again; limit denied_repeatedly, setting denied_repeats",
    Limit.MAX_TOKENS: "the answer was cut before it said anything; limit max_tokens",
    Limit.TURN_TIME: "its time was up; limit turn_time, setting turn_time_s",
}
"""What a turn that a limit ended says of it in its last word: the reason, the limit and its setting (T12)."""


def closing_text(outcome: Outcome, limit: Limit | None = None) -> str:
    """Give the last word of a turn that ended without an answer."""
    if outcome is Outcome.TURN_LIMIT and limit is not None:
        return f"(I stopped here, without an answer: {LIMIT_TEXT[limit]}.)"
    return CLOSING_TEXT[outcome]


class Projection:
    """The messages of one session, grown record by record.

    Feed it every record in order, from `session_created` on.
    """

    def __init__(self) -> None:
        self._messages: list[JsonObject] = []
        self._baseline = Baseline()
        self._turn: TurnId | None = None
        self._batch: Assistant | None = None
        self._results: dict[int, ToolResult] = {}

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def messages(self) -> tuple[JsonObject, ...]:
        """Everything that is settled, in the form of P1."""
        return tuple(self._messages)

    def with_question(self, content: str) -> tuple[JsonObject, ...]:
        """Give the messages as they would be with this user's message behind them (C0)."""
        return (*self._messages, self._question(content))

    def apply(self, record: Record, turn: TurnId | None = None) -> None:
        """Take the next record of the log, with the turn that it belongs to."""
        match record:
            case SessionCreated(baseline=baseline):
                self._baseline = baseline
                self._messages += head(baseline)
            case User(content=content):
                self._turn = turn
                self._messages.append(self._question(content))
            case Assistant():
                self._answer(record)
            case ToolResult():
                self._settle(record)
            # A turn that ends in the queue was never in the prompt (H4).
            case TurnFinished(outcome=outcome, limit=limit) if turn == self._turn:
                self._close(closing_text(outcome, limit))
            case _:
                pass

    def _question(self, content: str) -> JsonObject:
        """Give a user's message; the first one holds the system prompt where it has no message of its own (P8)."""
        is_first = not self._messages
        asked = f"{self._baseline.system}\n\n{content}" if is_first and self._baseline.system else content
        return {"role": "user", "content": asked}

    def _answer(self, record: Assistant) -> None:
        if record.tool_calls:
            self._batch = record
        elif record.content.strip():
            self._messages.append(_assistant(record.content, record.reasoning))

    def _settle(self, result: ToolResult) -> None:
        batch = self._batch
        if batch is None:
            return
        self._results[result.call] = result
        if len(self._results) < len(batch.tool_calls):
            return
        # Results are kept as they arrive and shown in call order (T8).
        settled = [(call, self._results[call.call]) for call in batch.tool_calls]
        self._messages += _one_by_one(batch, settled) if _takes_one_call(self._baseline) else _at_once(batch, settled)
        self._batch, self._results = None, {}

    def _close(self, last_word: str) -> None:
        # A turn that was cancelled before its message was taken up has nothing to close.
        if self._messages and self._messages[-1]["role"] in ("user", "tool"):
            self._messages.append({"role": "assistant", "content": last_word})


def head(baseline: Baseline) -> list[JsonObject]:
    """Give the messages that stand before the first turn: the system prompt, if it is one and has a role."""
    template = baseline.template
    has_role = template is None or template.system_role
    return [{"role": "system", "content": baseline.system}] if baseline.system and has_role else []


def _takes_one_call(baseline: Baseline) -> bool:
    # Without tools the profile says `parallel: false` too, of a template that was never asked for two calls.
    template = baseline.template
    return template is not None and template.tools and not template.parallel


def _at_once(batch: Assistant, settled: list[tuple[ToolCall, ToolResult]]) -> list[JsonObject]:
    message = _assistant(batch.content, batch.reasoning)
    message["tool_calls"] = [_call(call) for call, _ in settled]
    return [message, *(result_message(call, result) for call, result in settled)]


def _one_by_one(batch: Assistant, settled: list[tuple[ToolCall, ToolResult]]) -> list[JsonObject]:
    """Show a batch as if each call had been a step; what the model said and thought stands with the first (P8)."""
    messages: list[JsonObject] = []
    for call, result in settled:
        message = _assistant("", "") if messages else _assistant(batch.content, batch.reasoning)
        messages += [{**message, "tool_calls": [_call(call)]}, result_message(call, result)]
    return messages


def _assistant(content: str, reasoning: str) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": content}
    if reasoning:
        message["reasoning_content"] = reasoning
    return message


def _call(call: ToolCall) -> JsonObject:
    function = {"name": call.name, "arguments": shown_arguments(call.arguments)}
    return {"id": call.tool_call_id, "type": "function", "function": function}


def result_message(call: ToolCall, result: ToolResult) -> JsonObject:
    """Give a result as the model sees it, under the name that it called; an untrusted one has its fences (P6)."""
    content = result.content
    if result.fence is not None:
        content = f"<untrusted {result.fence}>\n{content}\n</untrusted {result.fence}>"
    return {"role": "tool", "tool_call_id": call.tool_call_id, "name": call.name, "content": content}
