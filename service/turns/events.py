"""What followers of a session get: stored records and signals, in the order in which they happened."""

from __future__ import annotations

from dataclasses import dataclass

from service.core.ids import SessionId, TurnId
from service.core.signals import Signal
from service.ports import StoredRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalEvent:
    """A signal with the session and turn that it belongs to; None for what concerns all of them."""

    session: SessionId | None
    turn: TurnId | None
    signal: Signal


Event = StoredRecord | SignalEvent
"""One thing that a follower is shown."""
