"""Which turns of a session are shown to somebody who joins it: all that were not at their end when they were met."""

from __future__ import annotations

from collections.abc import Sequence


class TurnsToShow:
    """In the order of their first sight; one that waited then may be at its end before it is come to."""

    def __init__(self) -> None:
        self._is_shown: dict[str, bool] = {}

    def meet(self, running: str | None, queued: Sequence[str]) -> None:
        """Take note of the turns that the session has now."""
        for turn in (running, *queued):
            if turn is not None:
                self._is_shown.setdefault(turn, False)

    def next(self) -> str | None:
        """Give the next one, once; None when there is none for now."""
        turn = next((turn for turn, is_shown in self._is_shown.items() if not is_shown), None)
        if turn is not None:
            self._is_shown[turn] = True
        return turn
