"""Makes a failing conversation small: leaves out and simplifies for as long as the same thing is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any, cast

from tests.conversations.plan import Conversation

_MOST_TRIALS = 3000
# Of a conversation that hangs each trial takes its time.
_MOST_S = 300.0


def smallest(plan: Conversation, is_wrong: Callable[[Conversation], bool]) -> Conversation:
    """Give the smallest conversation found of which `is_wrong` still holds."""
    trials, until = 0, time.monotonic() + _MOST_S
    has_shrunk = True
    while has_shrunk:
        has_shrunk = False
        for smaller in _smaller(plan):
            trials += 1
            if trials > _MOST_TRIALS or time.monotonic() > until:
                return plan
            if is_wrong(smaller):
                plan, has_shrunk = smaller, True
                break
    return plan


def _smaller(value: Any) -> Iterator[Any]:
    """Give values that are a little simpler, the boldest first."""
    if is_dataclass(value):
        yield from _simpler_fields(value)
    elif isinstance(value, tuple):
        yield from _shorter(cast(tuple[Any, ...], value))
    elif isinstance(value, dict):
        members = cast(dict[str, Any], value)
        for left_out in members:
            yield {name: member for name, member in members.items() if name != left_out}
    elif type(value) is int and value > 0:
        yield from dict.fromkeys((0, value // 2, value - 1))


def _simpler_fields(value: Any) -> Iterator[Any]:
    for field in fields(value):
        now = getattr(value, field.name)
        if field.default is not MISSING and now != field.default:
            yield replace(value, **{field.name: field.default})
        for simpler in _smaller(now):
            yield replace(value, **{field.name: simpler})


def _shorter(value: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if len(value) > 2:
        yield value[: len(value) // 2]
        yield value[len(value) // 2 :]
    for place in range(len(value)):
        yield value[:place] + value[place + 1 :]
    for place, item in enumerate(value):
        for simpler in _smaller(item):
            yield (*value[:place], simpler, *value[place + 1 :])
