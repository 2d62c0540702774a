"""A session's beginning, its turns' beginnings and ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from service.core.baseline import Baseline
from service.core.ids import SessionId, TurnId
from service.core.labels import DataClass
from service.core.records.options import TurnOptions
from service.core.records.outcomes import Limit, Outcome, TurnError
from service.core.usage import UsageTotals


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentLink:
    """The call of another session that a child session answers."""

    session: SessionId
    turn: TurnId
    call: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkLink:
    """Where a fork begins: behind the record `seq` of another session, whose `hash` (hex) covers all before it."""

    session: SessionId
    seq: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCreated:
    """Always `seq` 1: the baseline that never changes.

    A child begins with its parent's labels: `data_class` and `untrusted` are what the parent's log held (X6), and
    `depth` counts the handoffs above it (G2).
    """

    type: ClassVar[str] = "session_created"
    v: int = 1
    agent: str | None
    baseline: Baseline
    parent: ParentLink | None = None
    fork: ForkLink | None = None
    data_class: DataClass = DataClass.PUBLIC
    untrusted: bool = False
    depth: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnQueued:
    """A user's message that waits for the turns before it; durable, and never in the prompt (H4)."""

    type: ClassVar[str] = "turn_queued"
    content: str
    options: TurnOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A user's message: starts a turn (T1)."""

    type: ClassVar[str] = "user"
    content: str
    options: TurnOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """A restart went on with this turn (S4)."""

    type: ClassVar[str] = "resumed"
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTotals:
    """What a fold needs from before a turn: carried by each `turn_finished`."""

    next_call: int = 1
    data_class: DataClass = DataClass.PUBLIC
    untrusted_seen: bool = False
    usage: UsageTotals = UsageTotals()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished:
    """The end of a turn: exactly one per turn, always."""

    type: ClassVar[str] = "turn_finished"
    outcome: Outcome
    limit: Limit | None = None
    truncated: bool = False
    error: TurnError | None = None
    content: str | None = None
    steps: int
    usage: UsageTotals
    totals: SessionTotals
