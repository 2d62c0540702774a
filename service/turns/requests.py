"""What callers ask of the sessions, already checked for shape; rules on the values are checked below."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from service.core.baseline import Compaction, Thinking, ToolMode
from service.core.ids import SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.records import OnToolLimit, ToolChoice
from service.core.trace_context import TraceContext


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsAsked:
    """Which tools a new session wants: `names` None means all, () none; `mode` None leaves it to us (X3)."""

    names: tuple[str, ...] | None = None
    mode: ToolMode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkAsked:
    """A new session that begins with another one's records before a turn (H10)."""

    session: SessionId
    before: TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAsked:
    """A new session; None leaves a value to the agent's profile, then to the settings.

    A `fork` takes all but title and metadata from the session that it forks.
    """

    agent: str | None = None
    system: str | None = None
    tools: ToolsAsked | None = None
    model: str | None = None
    title: str = ""
    metadata: JsonObject = field(default_factory=dict[str, object])
    sampling: JsonObject | None = None
    limits: JsonObject | None = None
    thinking: Thinking | None = None
    compaction: Compaction | None = None
    fork: ForkAsked | None = None


class OnBusy(StrEnum):
    """What becomes of a message that comes while another turn runs (H4)."""

    REJECT = "reject"
    QUEUE = "queue"
    INTERRUPT = "interrupt"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAsked:
    """A new turn; `limits` holds only those that were given. `trace` is the caller's place in a trace."""

    content: str
    on_busy: OnBusy = OnBusy.REJECT
    tool_choice: ToolChoice = ToolChoice.AUTO
    on_tool_limit: OnToolLimit = OnToolLimit.STOP
    limits: JsonObject | None = None
    response_format: JsonObject | None = None
    trace: TraceContext | None = None
