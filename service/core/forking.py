"""Which records of a session a fork takes with it: those before a turn's message, and all that belongs to them (H10).

Above: the sessions, which copy them. Below: `records`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from service.core.errors import TurnkeeperError
from service.core.ids import SessionId, TurnId
from service.core.records import Entry, Record, Summary, User

_SECOND = 2


class NothingToFork(TurnkeeperError):
    """The turn is not in the log, or its message was never taken up; the text says which."""


def before_turn(entries: Sequence[Entry], turn: TurnId) -> tuple[Entry, ...]:
    """Give the records before a turn's message, in order, `session_created` not among them.

    Turns that had not begun by then are left out, with their places in the queue. Summaries by hand belong to no turn
    and stay.

    Raises:
        NothingToFork: there is no such place.
    """
    place = next((place for place, entry in enumerate(entries) if _begins(entry, turn)), None)
    if place is None:
        known = any(entry.turn == turn for entry in entries)
        raise NothingToFork("its message was not taken up" if known else "it is not a turn of that session")
    earlier = entries[:place]
    begun = {entry.turn for entry in earlier if isinstance(entry.record, User)}
    return tuple(entry for entry in earlier[1:] if entry.turn in begun or entry.turn is None)


def renumbered(copied: Sequence[Entry], session: SessionId) -> tuple[Entry, ...]:
    """Give these records as those of another session, behind its first one; what they name by `seq` is theirs anew."""
    places = {entry.seq: seq for seq, entry in enumerate(copied, start=_SECOND)}
    return tuple(
        replace(entry, session=session, seq=places[entry.seq], record=_renumbered(entry.record, places))
        for entry in copied
    )


def _renumbered(record: Record, places: Mapping[int, int]) -> Record:
    if not isinstance(record, Summary) or record.covers == 0:
        return record
    # Records that were not copied may stand at the end of what it covers; `session_created` is always there.
    covers = max((seq for before, seq in places.items() if before <= record.covers), default=_SECOND - 1)
    return replace(record, covers=covers)


def _begins(entry: Entry, turn: TurnId) -> bool:
    return entry.turn == turn and isinstance(entry.record, User)
