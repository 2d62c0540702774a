"""A call that another agent answers, in a session of its own (G2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from service.core.ids import SessionId, TurnId
from service.core.records.outcomes import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLink:
    """The session and the turn that answer a call of this one."""

    session: SessionId
    turn: TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffStarted:
    """Another agent takes over; appended before its session is made, so that a restart can make it."""

    type: ClassVar[str] = "handoff_started"
    call: int
    agent: str
    child: ChildLink


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffReturned:
    """The child's turn has ended; appended together with the call's result.

    `outcome` is None when the child's session was deleted. `waited_s` is how long the child waited for people: that
    time is not the turn's (T12).
    """

    type: ClassVar[str] = "handoff_returned"
    call: int
    child: ChildLink
    outcome: Outcome | None
    content: str | None
    waited_s: float = 0.0
