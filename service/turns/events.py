"""What followers of a session get: stored records and signals, in the order in which they happened."""

from __future__ import annotations

import msgspec

from service.core.ids import SessionId, TurnId
from service.core.signals import Signal
from service.ports import StoredRecord


class SignalEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A signal with the session and turn that it belongs to; None for what concerns all of them."""

    session: SessionId | None
    turn: TurnId | None
    signal: Signal


Event = StoredRecord | SignalEvent
"""One thing that a follower is shown."""
