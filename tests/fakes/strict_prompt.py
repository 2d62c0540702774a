"""What the strictest chat template known takes: a prompt that breaks one of these rules is refused (P4)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from service.core.json_types import JsonObject


class MalformedPrompt(Exception):
    """The prompt breaks a rule; the text says which and where."""


def check_prompt(messages: Sequence[JsonObject]) -> None:
    """Raise MalformedPrompt unless the messages satisfy the strictest template."""
    expected = "user"
    open_calls: list[str] = []
    for place, message in enumerate(messages):
        role = message["role"]
        if not isinstance(message["content"], str):
            raise MalformedPrompt(f"content of message {place} is no string")
        if role == "system":
            if place > 0:
                raise MalformedPrompt(f"a system message at {place}")
            continue
        if open_calls:
            if role != "tool" or message["tool_call_id"] != open_calls[0]:
                raise MalformedPrompt(f"message {place} is not the result of {open_calls[0]}")
            open_calls.pop(0)
            expected = "tool" if open_calls else "assistant"
            continue
        if role != expected:
            raise MalformedPrompt(f"message {place} is {role}, not {expected}")
        if role == "assistant":
            open_calls = _call_ids(message, place)
            expected = "tool" if open_calls else "user"
        else:
            expected = "assistant"
    if not messages or open_calls or messages[-1]["role"] not in ("user", "tool"):
        raise MalformedPrompt("the last message is neither a user's nor a tool's")


def _call_ids(message: JsonObject, place: int) -> list[str]:
    calls = message.get("tool_calls", [])
    if not calls and not message["content"]:
        raise MalformedPrompt(f"the assistant says nothing at {place}")
    for call in calls:
        if not isinstance(json.loads(call["function"]["arguments"]), dict):
            raise MalformedPrompt(f"arguments at {place} are no object")
    ids = [call["id"] for call in calls]
    if len(set(ids)) < len(ids) or not all(ids):
        raise MalformedPrompt(f"call ids at {place} are empty or used twice")
    return ids
