"""The wait for the first byte of an answer: what is seen, which state that is, how long it may last (L2).

Above: the adapter, which looks and has the clock. Below: `completion_events`, `errors`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from service.core.completion_events import StillWaiting, WaitReason
from service.core.errors import ErrorKind, ModelFailure


class Sight(StrEnum):
    """What one look at the server shows."""

    FIRST_BYTES = "some bytes of the answer have arrived"
    NO_SLOT_WORKS = "no slot is processing"
    A_SLOT_WORKS = "some slot is processing"
    REFUSED = "/slots is refused for good"
    UNTOLD = "/slots is answered, but not with the state of the slots"
    LOADING = "the server says that it is unavailable"
    UNREACHABLE = "there is no connection"
    SILENT = "there is no answer in time"


class HeadState(StrEnum):
    """What the wait is for."""

    IDLE = "idle"
    BUSY = "busy"
    UNAVAILABLE = "unavailable"


STATE_OF: dict[Sight, HeadState] = {
    Sight.FIRST_BYTES: HeadState.IDLE,
    Sight.NO_SLOT_WORKS: HeadState.IDLE,
    # Also a slot that isn't ours: a request may wait for the end of a batch in another one.
    Sight.A_SLOT_WORKS: HeadState.BUSY,
    Sight.REFUSED: HeadState.BUSY,
    # A server that answers lives. As it does not say what it does, it gets the longest time.
    Sight.UNTOLD: HeadState.BUSY,
    Sight.LOADING: HeadState.UNAVAILABLE,
    Sight.UNREACHABLE: HeadState.UNAVAILABLE,
    Sight.SILENT: HeadState.UNAVAILABLE,
}

SIGHT_OF_STATUS: dict[int, Sight] = {
    401: Sight.REFUSED,
    403: Sight.REFUSED,
    404: Sight.REFUSED,
    501: Sight.REFUSED,
    # What a proxy in front says of a server that it can't reach, and of one that does not answer it.
    502: Sight.UNREACHABLE,
    503: Sight.LOADING,
    504: Sight.SILENT,
}
"""What a status of `/slots` other than 200 shows; any that isn't here is `UNTOLD`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """What a state is called, and what it is when it has lasted for the time of its setting."""

    reason: WaitReason
    setting: str
    kind: ErrorKind
    said: str


PATIENCE: dict[HeadState, Patience] = {
    HeadState.BUSY: Patience(
        reason=WaitReason.SLOT_BUSY,
        setting="busy_wait_ms",
        kind=ErrorKind.WAIT_TIMEOUT,
        said="llama-server did not begin to answer: its slots were busy, or it does not tell them",
    ),
    HeadState.UNAVAILABLE: Patience(
        reason=WaitReason.LOADING,
        setting="load_wait_ms",
        kind=ErrorKind.LOAD_TIMEOUT,
        said="llama-server did not begin to answer: it was loading or could not be reached",
    ),
    HeadState.IDLE: Patience(
        reason=WaitReason.IDLE,
        setting="idle_grace_ms",
        kind=ErrorKind.STALLED,
        said="llama-server did not begin to answer, or did not go on with it, though nothing kept it from that",
    ),
}


def sight_of_status(status: int) -> Sight:
    """Say what it shows that `/slots` was answered with this status, other than 200."""
    return SIGHT_OF_STATUS.get(status, Sight.UNTOLD)


class HeadWait:
    """One wait. Times are seconds of a clock that never goes back; what is not looked at is as it was seen last."""

    def __init__(self, *, busy_wait_ms: int, load_wait_ms: int, idle_grace_ms: int) -> None:
        self._bounds_s = {
            HeadState.BUSY: busy_wait_ms / 1000,
            HeadState.UNAVAILABLE: load_wait_ms / 1000,
            HeadState.IDLE: idle_grace_ms / 1000,
        }
        self._state: HeadState | None = None
        self._since = 0.0

    @property
    def deadline(self) -> float | None:
        """Until when the state may last; None before the first look, when nothing is known."""
        return None if self._state is None else self._since + self._bounds_s[self._state]

    def look(self, sight: Sight, now: float) -> StillWaiting:
        """Take what was seen; give what to tell those who wait.

        Raises:
            ModelFailure: the state has lasted for its time.
        """
        state = STATE_OF[sight]
        if state is not self._state:
            self._state, self._since = state, now
        self.check(now)
        return StillWaiting(reason=PATIENCE[state].reason, waited_ms=round((now - self._since) * 1000))

    def check(self, now: float) -> None:
        """See whether the state may last longer.

        Raises:
            ModelFailure: it has lasted for its time.
        """
        if self._state is not None and now >= self._since + self._bounds_s[self._state]:
            patience = PATIENCE[self._state]
            waited = f"for {self._bounds_s[self._state]:g} s ({patience.setting})"
            raise ModelFailure(patience.kind, f"{patience.said} {waited}")
