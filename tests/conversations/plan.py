"""A whole conversation as one value: what is asked, what the model and the tools do, and what strikes in between.

It is drawn by `generator`, played by `driver`, and printed when something is wrong: its text is Python that makes
the same value again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from service.core.baseline import Compaction, Thinking, ToolMode
from service.core.json_types import JsonObject
from service.core.records import OnToolLimit, ToolChoice

CONTEXT_TOKENS = 4096


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
    WAITING = "while people are waited for"
    DECIDED = "behind a decision"
    CREATING = "before a child is made"
    CREATED = "behind the making of a child"
    HANDED = "while a child runs"
    SUMMARISING = "while a summary is written"


class Blow(StrEnum):
    """What strikes."""

    CANCEL = "cancel"
    CANCEL_CHILD = "cancel of a child"
    """The newest child's turn is cancelled by its own address."""
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


class Manner(StrEnum):
    """How people decide on the calls that wait together."""

    TOGETHER = "all at once"
    ONE_BY_ONE = "one by one"
    TWICE = "the same twice"
    WRONG_DIGEST = "with a wrong digest first"
    RIVALS = "two people at once, one for it and one against it"
    NOBODY = "nobody in time"


@dataclass(frozen=True, slots=True)
class Word:
    """What people say when calls wait: of each call in turn whether it may run.

    `arguments` are raw text in place of the model's, of each call that may; `to_child` sends it to the turn that asked,
    where that is not the one that the client began.
    """

    manner: Manner = Manner.TOGETHER
    approved: tuple[bool, ...] = (True,)
    arguments: str | None = None
    reason: str | None = None
    to_child: bool = False


@dataclass(frozen=True, slots=True)
class CallPlan:
    """A call of the model; HERE in its arguments becomes what the last cut result says of reading on.

    `child` is what the model does in the session of the agent to which the call hands over.
    """

    name: str = "weather"
    arguments: str = "{}"
    id: str | None = "call-1"
    child: tuple[PlayPlan, ...] = ()


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
    """A turn and what the model does in it; an `endless` one plays its last completion again and again.

    `words` are what people say, one for each time that they are asked, and `summaries` what the model writes when it is
    asked for a summary; `compact` has one made by hand before the turn.
    """

    content: str = "Hello"
    plays: tuple[PlayPlan, ...] = ()
    endless: bool = False
    words: tuple[Word, ...] = ()
    summaries: tuple[PlayPlan, ...] = ()
    compact: bool = False
    strikes: tuple[Strike, ...] = ()
    tool_choice: ToolChoice = ToolChoice.AUTO
    on_tool_limit: OnToolLimit = OnToolLimit.STOP
    limits: JsonObject | None = None
    response_format: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session and its turns; `profile` names its template, `agents` says that there are others to hand over to.

    `pace` is how many rounds of the loop the calls take, one after the other. `guarded` is the policy of A7.
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
    agents: bool = False
    approval_wait_s: int = 0
    guarded: bool = True
    context_tokens: int = CONTEXT_TOKENS
    compaction: Compaction = Compaction.ON
    compact_messages: int = 0
