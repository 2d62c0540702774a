"""A whole conversation as one value: what is asked, what the model and the tools do, and what strikes in between.

It is drawn by `generator`, played by `driver`, and printed when something is wrong: its text is Python that makes
the same value again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from service.core.baseline import Thinking, ToolMode
from service.core.json_types import JsonObject
from service.core.records import OnToolLimit, ToolChoice


class Moment(StrEnum):
    """A place where something may strike: each is counted when it is reached."""

    ASKING = "before the first token"
    STREAMING = "while text streams"
    ENDING = "before the completion ends"
    CALLING = "before a tool runs"
    RUNNING = "while a tool runs"
    WRITING = "before a write"
    WRITTEN = "behind a write"
    SLEEPING = "in a pause"


class Blow(StrEnum):
    """What strikes."""

    CANCEL = "cancel"
    STOP = "stop"
    """The service shuts down in order and starts anew."""
    KILL = "kill"
    """The process is gone; the next one starts."""
    TIME = "time"
    """An hour passes."""
    STORE = "store"
    """The next write fails."""
    DISK = "disk"
    """The next two writes fail, so that the turn's end can't be written either."""


@dataclass(frozen=True, slots=True)
class Strike:
    """A blow at such a moment, when `after` others of its kind have passed.

    What it strikes waits for `lag` rounds of the loop, so that the blow comes before it goes on, or just behind it.
    """

    blow: Blow
    at: Moment = Moment.ASKING
    after: int = 0
    lag: int = 0


@dataclass(frozen=True, slots=True)
class CallPlan:
    """A call of the model; HERE in its arguments becomes what the last cut result says of reading on."""

    name: str = "weather"
    arguments: str = "{}"
    id: str | None = "call-1"


@dataclass(frozen=True, slots=True)
class PlayPlan:
    """One completion; `trouble` names how it fails, and `prompt_tokens` says what the server counts."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[CallPlan, ...] = ()
    finish_reason: str | None = None
    trouble: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """A turn and what the model does in it; an `endless` one plays its last completion again and again."""

    content: str = "Hello"
    plays: tuple[PlayPlan, ...] = ()
    endless: bool = False
    strikes: tuple[Strike, ...] = ()
    tool_choice: ToolChoice = ToolChoice.AUTO
    on_tool_limit: OnToolLimit = OnToolLimit.STOP
    limits: JsonObject | None = None
    response_format: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session and its turns; `profile` names its template.

    `pace` is how many rounds of the loop the calls take, one after the other.
    """

    turns: tuple[TurnPlan, ...]
    profile: str = "plain"
    system: str = ""
    tools: tuple[str, ...] | None = None
    mode: ToolMode | None = None
    thinking: Thinking = Thinking.ON
    limits: JsonObject | None = None
    met_server: bool = True
    pace: tuple[int, ...] = ()
