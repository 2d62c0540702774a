"""Which records of a session a fork takes with it: those before a turn's message, and all that belongs to them (H10).

Above: the sessions, which copy them. Below: `records`.
"""

from __future__ import annotations

from collections.abc import Sequence

from service.core.errors import TurnkeeperError
from service.core.ids import TurnId
from service.core.records import Entry, User


class NothingToFork(TurnkeeperError):
    """The turn is not in the log, or its message was never taken up; the text says which."""


def before_turn(entries: Sequence[Entry], turn: TurnId) -> tuple[Entry, ...]:
    """Give the records before a turn's message, in order, `session_created` not among them.

    Turns that had not begun by then are left out, with their places in the queue.

    Raises:
        NothingToFork: there is no such place.
    """
    place = next((place for place, entry in enumerate(entries) if _begins(entry, turn)), None)
    if place is None:
        known = any(entry.turn == turn for entry in entries)
        raise NothingToFork("its message was not taken up" if known else "it is not a turn of that session")
    earlier = entries[:place]
    begun = {entry.turn for entry in earlier if isinstance(entry.record, User)}
    return tuple(entry for entry in earlier if entry.turn in begun)


def _begins(entry: Entry, turn: TurnId) -> bool:
    return entry.turn == turn and isinstance(entry.record, User)
