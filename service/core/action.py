"""What a call does: the tool that it names, or the one inside a `call_tool` (X4), and when two do the same (T7).

Above: the fold, which remembers what was done, and the batch, which decides what to do. Below: `exact_json`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from service.core.exact_json import read_exact, write_exact
from service.core.json_types import JsonObject, JsonValue

CALL_TOOL = "call_tool"
"""The tool by which a session with many tools calls any of them (X3)."""

# A text of a megabyte is compared as it stands; to sort its keys would cost more than a repeat of it.
_COMPARED_BY_MEANING = 65_536


@dataclass(frozen=True, slots=True)
class Action:
    """A tool and its arguments as raw text."""

    name: str
    arguments: str


def action_of(name: str, arguments: str) -> Action:
    """Give what a call does; a `call_tool` that names no tool does nothing but call `call_tool` itself."""
    if name != CALL_TOOL:
        return Action(name, arguments)
    try:
        called = read_exact(arguments)
    except ValueError:
        return Action(name, arguments)
    inner = _inner(called)
    return inner if inner is not None else Action(name, arguments)


def _inner(called: JsonValue) -> Action | None:
    if not isinstance(called, dict):
        return None
    members = cast(JsonObject, called)
    name, arguments = members.get("name"), members.get("arguments", {})
    if type(name) is not str or name == CALL_TOOL or members.keys() - {"name", "arguments"}:
        return None
    if isinstance(arguments, dict):
        return Action(name, write_exact(cast(JsonObject, arguments)))
    # Models often write the object as a text.
    return Action(name, arguments) if type(arguments) is str else None


RepeatKey = tuple[str, str]
"""The name and the arguments in one spelling: equal for calls that do the same (T7)."""


def repeat_key(action: Action) -> RepeatKey:
    """Give the pair by which a repeat is known: neither the order of keys nor white space counts, numbers by text."""
    if len(action.arguments) > _COMPARED_BY_MEANING:
        return action.name, action.arguments
    try:
        return action.name, write_exact(read_exact(action.arguments), sort_keys=True)
    except ValueError:
        return action.name, action.arguments.strip()
