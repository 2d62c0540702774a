"""Prompts, answers and tools as the conventions write them: JSON texts, cut to a bound.

The form is that of `gen_ai.input.messages` and its kin in version 1.41.0 (`names.py`): messages of parts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from service.core.completion_events import Completion
from service.core.json_types import JsonObject

MOST_CHARACTERS = 256 * 1024
"""Of one attribute; a prompt that is longer loses its oldest messages, and another text its end."""


def system_of(messages: Sequence[JsonObject]) -> str | None:
    """Give the system text of a prompt; None where it has none."""
    parts = [_text(message["content"]) for message in messages if message.get("role") == "system"]
    return _json(parts)[:MOST_CHARACTERS] if parts else None


def prompt_of(messages: Sequence[JsonObject]) -> tuple[str, int]:
    """Give a prompt without its system text, and how many of its oldest messages were left out for their length."""
    shown = [_json(_message(message)) for message in messages if message.get("role") != "system"]
    length, kept = 0, 0
    for text in reversed(shown):
        length += len(text) + 1
        if length > MOST_CHARACTERS:
            break
        kept += 1
    left_out = len(shown) - kept
    return f"[{','.join(shown[left_out:])}]", left_out


def answer_of(completion: Completion) -> str:
    """Give what a completion brought."""
    parts: list[JsonObject] = []
    if completion.reasoning:
        parts.append({"type": "reasoning", "content": completion.reasoning})
    if completion.content:
        parts.append(_text(completion.content))
    parts.extend(
        {"type": "tool_call", "id": call.id, "name": call.name, "arguments": _arguments(call.arguments)}
        for call in completion.calls
    )
    return said(parts, completion.finish_reason)


def said(parts: Sequence[JsonObject], finish_reason: str) -> str:
    """Give one message of the assistant's."""
    return _json([{"role": "assistant", "parts": list(parts), "finish_reason": finish_reason}])[:MOST_CHARACTERS]


def answer_text(content: str) -> str:
    """Give a turn's answer."""
    return said([_text(content)], "stop")


def tools_of(specs: Sequence[JsonObject]) -> str | None:
    """Give the tools that stand in a prompt; None where there are none."""
    if not specs:
        return None
    return _json([{"type": spec.get("type"), **_object(spec.get("function"))} for spec in specs])[:MOST_CHARACTERS]


def cut(text: str) -> str:
    """Cut a text to the bound."""
    return text[:MOST_CHARACTERS]


def _message(message: JsonObject) -> JsonObject:
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        return {
            "role": role,
            "parts": [{"type": "tool_call_response", "id": message.get("tool_call_id"), "response": content}],
        }
    parts: list[JsonObject] = []
    if message.get("reasoning_content"):
        parts.append({"type": "reasoning", "content": message["reasoning_content"]})
    if content:
        parts.append(_text(content))
    calls: Any = message.get("tool_calls") or ()
    for call in calls:
        function = _object(call.get("function"))
        parts.append(
            {
                "type": "tool_call",
                "id": call.get("id"),
                "name": function.get("name"),
                "arguments": _arguments(function.get("arguments")),
            }
        )
    return {"role": role, "parts": parts}


def _text(content: object) -> JsonObject:
    return {"type": "text", "content": content}


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _arguments(text: object) -> object:
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        # The model's own words, whatever they are.
        return text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
