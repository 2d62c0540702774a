"""The forms that a session's records have as messages (P1, P4, P6, P8).

Above: `projection`, which says what is shown. Below: the records, and what the baseline's template takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from service.core.baseline import Baseline
from service.core.json_types import JsonObject
from service.core.records import Assistant, ToolCall, ToolResult
from service.core.summary_text import fenced
from service.core.tool_arguments import shown_arguments


def head(baseline: Baseline) -> list[JsonObject]:
    """Give the messages that stand before the first turn: the system prompt, if it is one and has a role."""
    template = baseline.template
    has_role = template is None or template.system_role
    return [{"role": "system", "content": baseline.system}] if baseline.system and has_role else []


def assistant_message(content: str, reasoning: str) -> JsonObject:
    """Give what the model said, and what it thought, when it did."""
    message: JsonObject = {"role": "assistant", "content": content}
    if reasoning:
        message["reasoning_content"] = reasoning
    return message


def batch_messages(baseline: Baseline, batch: Assistant, results: Sequence[ToolResult]) -> tuple[JsonObject, ...]:
    """Give a batch with all of its results, both in call order."""
    settled = list(zip(batch.tool_calls, results, strict=True))
    return tuple(_one_by_one(batch, settled) if _takes_one_call(baseline) else _at_once(batch, settled))


def _takes_one_call(baseline: Baseline) -> bool:
    # Without tools the profile says `parallel: false` too, of a template that was never asked for two calls.
    template = baseline.template
    return template is not None and template.tools and not template.parallel


def _at_once(batch: Assistant, settled: Sequence[tuple[ToolCall, ToolResult]]) -> list[JsonObject]:
    message = assistant_message(batch.content, batch.reasoning)
    message["tool_calls"] = [_call(call) for call, _ in settled]
    return [message, *(result_message(call, result) for call, result in settled)]


def _one_by_one(batch: Assistant, settled: Sequence[tuple[ToolCall, ToolResult]]) -> list[JsonObject]:
    """Show a batch as if each call had been a step; what the model said and thought stands with the first (P8)."""
    messages: list[JsonObject] = []
    for call, result in settled:
        message = assistant_message("", "") if messages else assistant_message(batch.content, batch.reasoning)
        messages += [{**message, "tool_calls": [_call(call)]}, result_message(call, result)]
    return messages


def _call(call: ToolCall) -> JsonObject:
    function = {"name": call.name, "arguments": shown_arguments(call.arguments)}
    return {"id": call.tool_call_id, "type": "function", "function": function}


def result_message(call: ToolCall, result: ToolResult) -> JsonObject:
    """Give a result as the model sees it, under the name that it called; an untrusted one has its fences (P6)."""
    content = fenced(result.content, result.fence)
    return {"role": "tool", "tool_call_id": call.tool_call_id, "name": call.name, "content": content}
