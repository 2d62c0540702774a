"""What `turnkeeper chat` shows, apart from where and how: on a terminal, or as lines in a pipe."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Tone(StrEnum):
    """What a line is about."""

    PLAIN = "plain"
    USER = "user"
    THOUGHT = "thought"
    TOOL = "tool"
    DETAIL = "detail"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A whole line, with nothing hidden in it; `aside` is one that only somebody who watches wants to see."""

    text: str
    tone: Tone = Tone.DETAIL
    aside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The next piece of a text as it comes; foreign text as it is, so show it with care (K5)."""

    text: str
    is_thought: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of the turn, whole; whoever has shown the pieces has shown it. Foreign text as well."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """What is going on until something else is shown; empty when that is over."""

    text: str


Shown = Note | Piece | Answer | Doing
"""One thing to show."""


class Reasoning(StrEnum):
    """How much of the model's thought is shown."""

    HIDDEN = "hidden"
    COUNTED = "counted"
    SHOWN = "shown"
