"""Every value inside a JSON value, without recursion: what comes from outside may be nested at will."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from service.core.json_types import JsonValue


def walk(value: JsonValue) -> Iterator[tuple[int, JsonValue]]:
    """Give the value itself and all values inside it, each with its level: 1 for the outermost."""
    waiting: list[tuple[int, JsonValue]] = [(1, value)]
    while waiting:
        level, item = waiting.pop()
        yield level, item
        if isinstance(item, dict):
            waiting += [(level + 1, member) for member in cast(dict[str, JsonValue], item).values()]
        elif isinstance(item, list):
            waiting += [(level + 1, member) for member in cast(list[JsonValue], item)]


def is_nested_deeper(value: JsonValue, levels: int) -> bool:
    """Tell whether objects and arrays lie inside one another more than `levels` deep."""
    return any(level > levels and isinstance(item, dict | list) for level, item in walk(value))
