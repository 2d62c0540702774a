"""JSON whose numbers stay the text that they were: 1, 1.0 and 1e0 are three things here (T7).

Above: what compares calls, and what takes a call out of another one. The texts were written by a model.
"""

from __future__ import annotations

import json
from typing import cast

from service.core.json_types import JsonObject, JsonValue
from service.core.json_walk import is_nested_deeper

MAX_LEVELS = 80
"""Objects and arrays inside one another; what is deeper is no call that could run."""


class NumberText(str):
    """A number, by its text."""

    __slots__ = ()


def read_exact(raw: str) -> JsonValue:
    """Read JSON, each number as `NumberText`; of a repeated key the last one counts.

    Raises:
        ValueError: it is no JSON, or nested too deep to be read.
    """
    try:
        value: JsonValue = json.loads(raw, parse_int=NumberText, parse_float=NumberText)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if is_nested_deeper(value, MAX_LEVELS):
        raise ValueError("nested too deep")
    return value


def write_exact(value: JsonValue, *, sort_keys: bool = False) -> str:
    """Write what `read_exact` read, without white space."""
    if isinstance(value, NumberText):
        return str(value)
    if isinstance(value, dict):
        members = cast(JsonObject, value).items()
        return "{" + ",".join(_member(item, sort_keys) for item in (sorted(members) if sort_keys else members)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(write_exact(item, sort_keys=sort_keys) for item in cast(list[JsonValue], value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _member(item: tuple[str, JsonValue], sort_keys: bool) -> str:
    key, value = item
    return f"{json.dumps(key, ensure_ascii=False)}:{write_exact(value, sort_keys=sort_keys)}"
