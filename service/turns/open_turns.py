"""The turns of each owner that have not ended: those that run or wait for people, and those in queues (K3).

Counted by what the logs say, so what is lost with a failing store stays counted until its session is used again.
Above: the intake, which asks for places; live sessions, which tell how they stand. Below: `access.owner_places`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial

from service.access.owner_places import OwnerPlaces
from service.core.ids import OwnerId, SessionId, TurnId
from service.core.owner_bounds import OwnerBounds
from service.core.turn_state import TurnState


class OpenTurns:
    """Knows how many they are; the turns of handoffs count too, but only what callers send is ever refused."""

    def __init__(self, bounds: OwnerBounds) -> None:
        self._bounds = bounds
        self._places: OwnerPlaces[TurnId] = OwnerPlaces()
        self._of: dict[SessionId, tuple[TurnId, ...]] = {}

    def count(self, owner: OwnerId) -> int:
        """Say how many unfinished turns an owner has."""
        return self._places.count(owner)

    @contextmanager
    def place_for(self, turn: TurnId, owner: OwnerId, *, instead_of: TurnId | None = None) -> Generator[None]:
        """Keep a place for a turn until it is in the log, or is not to be; one that it is to replace is not counted.

        Raises:
            RequestRefused: the owner has no place left (`queue_full`).
        """
        check = partial(self._bounds.check_turns, replaced=0 if instead_of is None else 1)
        with self._places.kept_for(turn, owner, check):
            yield

    def note(self, session: SessionId, owner: OwnerId, state: TurnState) -> None:
        """Take note of how a session stands: which of its turns have not ended."""
        # Most records of a turn change nothing here.
        now = state.waiting_turns if state.queued else ()
        if state.turn is not None:
            now = (state.turn, *now)
        before = self._of.get(session, ())
        if now == before:
            return
        for turn in now:
            self._places.take(turn, owner)
        for turn in before:
            if turn not in now:
                self._places.free(turn)
        if now:
            self._of[session] = now
        else:
            del self._of[session]

    def forget(self, session: SessionId) -> None:
        """Take note that a session is gone, and with it its turns."""
        for turn in self._of.pop(session, ()):
            self._places.free(turn)
