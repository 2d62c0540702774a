"""What the strictest chat template known takes: a prompt that breaks one of these rules is refused (P4, P8)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from service.core.baseline import TemplateProfile
from service.core.json_types import JsonObject

_NINE = re.compile(r"[A-Za-z0-9]{9}")
_KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "reasoning_content", "tool_calls"},
    "tool": {"role", "tool_call_id", "name", "content"},
}


class MalformedPrompt(Exception):
    """The prompt breaks a rule; the text says which and where."""


def check_prompt(messages: Sequence[JsonObject], profile: TemplateProfile | None = None) -> None:
    """Raise MalformedPrompt unless the messages satisfy the strictest template that has this profile."""
    expected = "user"
    open_calls: list[tuple[str, str]] = []
    for place, message in enumerate(messages):
        _check_form(message, place)
        role = message["role"]
        if role == "system":
            _check_system(message, place, profile)
            continue
        if open_calls:
            _check_result(message, place, open_calls.pop(0))
            expected = "tool" if open_calls else "assistant"
            continue
        if role != expected:
            raise MalformedPrompt(f"message {place} is {role}, not {expected}")
        if role == "assistant":
            open_calls = _calls(message, place, profile)
            expected = "tool" if open_calls else "user"
        else:
            expected = "assistant"
    if not messages or open_calls or messages[-1]["role"] not in ("user", "tool"):
        raise MalformedPrompt("the last message is neither a user's nor a tool's")


def _check_form(message: JsonObject, place: int) -> None:
    if not isinstance(message["content"], str):
        raise MalformedPrompt(f"content of message {place} is no string")
    unknown = set(message) - _KEYS[message["role"]]
    if unknown:
        raise MalformedPrompt(f"message {place} has {', '.join(sorted(unknown))}")
    if message.get("reasoning_content", "-") == "" or message.get("tool_calls", "-") == []:
        raise MalformedPrompt(f"message {place} has an empty part that should be left out")


def _check_system(message: JsonObject, place: int, profile: TemplateProfile | None) -> None:
    if place > 0:
        raise MalformedPrompt(f"a system message at {place}")
    if profile is not None and not profile.system_role:
        raise MalformedPrompt("a system message for a template that has no place for it")
    if not message["content"]:
        raise MalformedPrompt("an empty system message")


def _check_result(message: JsonObject, place: int, call: tuple[str, str]) -> None:
    if message["role"] != "tool" or (message["tool_call_id"], message["name"]) != call:
        raise MalformedPrompt(f"message {place} is not the result of {call[0]}, a call of {call[1]}")


def _calls(message: JsonObject, place: int, profile: TemplateProfile | None) -> list[tuple[str, str]]:
    calls: list[JsonObject] = message.get("tool_calls", [])
    if not calls and not message["content"].strip():
        raise MalformedPrompt(f"the assistant says nothing at {place}")
    if len(calls) > 1 and profile is not None and profile.tools and not profile.parallel:
        raise MalformedPrompt(f"{len(calls)} calls at once at {place}")
    for call in calls:
        if not isinstance(json.loads(call["function"]["arguments"]), dict):
            raise MalformedPrompt(f"arguments at {place} are no object")
    ids: list[str] = [call["id"] for call in calls]
    if len(set(ids)) < len(ids) or not all(ids):
        raise MalformedPrompt(f"call ids at {place} are empty or used twice")
    if profile is not None and profile.call_id == "nine" and not all(map(_NINE.fullmatch, ids)):
        raise MalformedPrompt(f"a call id at {place} is not nine letters or digits")
    return [(call["id"], call["function"]["name"]) for call in calls]
