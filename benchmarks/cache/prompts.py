"""How clients without a service build their prompts anew for each turn.

`append_only` is what all should do. The other two are what is seen most: a clock in the system prompt, and a window
that slides over the last messages. Above: the clients. Below: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from service.core.json_types import JsonObject

WINDOW_MESSAGES = 6

# People take their time: a minute from turn to turn, which a quick measurement doesn't.
_FIRST_TURN = datetime(2026, 3, 2, 9, 30)
_BETWEEN_TURNS = timedelta(minutes=1)

Prompt = Callable[[str, Sequence[JsonObject], int], list[JsonObject]]
"""Builds the prompt of a turn, counted from 0, from a system prompt and all messages so far, the new one last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """A way to build prompts, and what is to be known of it."""

    prompt: Prompt
    words: str


def append_only(system: str, messages: Sequence[JsonObject], turn: int) -> list[JsonObject]:
    """Send the same system prompt and everything that was said."""
    return [_system(system), *messages]


def with_clock(system: str, messages: Sequence[JsonObject], turn: int) -> list[JsonObject]:
    """Begin the system prompt with the present time, to the minute."""
    now = _FIRST_TURN + turn * _BETWEEN_TURNS
    return [_system(f"It is {now:%A, %d %B %Y, %H:%M}. {system}"), *messages]


def with_window(system: str, messages: Sequence[JsonObject], turn: int) -> list[JsonObject]:
    """Send the system prompt and the last few messages only."""
    return [_system(system), *messages[-WINDOW_MESSAGES:]]


def _system(text: str) -> JsonObject:
    return {"role": "system", "content": text}


HABITS = {
    "naive: append only": Habit(prompt=append_only, words="the fair best case"),
    "naive: clock": Habit(prompt=with_clock, words="a clock in the system prompt, to the minute, one turn a minute"),
    "naive: window": Habit(prompt=with_window, words=f"a sliding window of the last {WINDOW_MESSAGES} messages"),
}
"""How clients of llama-server build their prompts, by the name of the subject."""
