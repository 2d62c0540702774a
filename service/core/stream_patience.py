"""How long a stream may be silent, or alive without getting on (L4).

Above: the adapter, which has the clock and asks for the slots. Below: `errors`, `slots_report`.
"""

from __future__ import annotations

from service.core.errors import ErrorKind, ModelFailure
from service.core.slots_report import SlotsReport


class StreamPatience:
    """Two clocks, which run only while we wait for the server: a slow reader of ours can't make it look stuck.

    Of a server that is silent the slots are looked at twice, in the middle of its time and at the end: as long as
    a prompt moves on from one look to the next, the silence is taken as work.

    `heard_at` is when bytes came last or their reading began, `advanced_at` when `advances` grew, a number that grows
    with each token and each step of prompt processing; in seconds. The reader writes them at each token, so they
    stand open: a call would cost more than what it does.
    """

    def __init__(self, *, liveness_ms: int, progress_ms: int) -> None:
        self._liveness_s = liveness_ms / 1000
        self._progress_s = progress_ms / 1000
        self.heard_at = 0.0
        self.advances = -1
        self.advanced_at = 0.0
        # Of the silence that was looked at last: when it began, when it counts as begun, and what the slots showed.
        self._looked_at_silence_of = 0.0
        self._silent_since = 0.0
        self._slots: SlotsReport | None = None

    def begin(self, now: float, advances: int) -> float:
        """Begin to wait for bytes; give the time, in seconds, at which `look` is due when none have come."""
        self.heard_at = now
        if advances != self.advances:
            self.advances, self.advanced_at = advances, now
        return self.look_at

    @property
    def look_at(self) -> float:
        """The time at which the first look of this silence is due."""
        return min(self.heard_at + self._liveness_s / 2, self._stuck_at)

    @property
    def _stuck_at(self) -> float:
        return self.advanced_at + self._progress_s

    def is_stuck(self, now: float) -> bool:
        """Say whether nothing has advanced for too long: then no look changes that."""
        return now >= self._stuck_at

    def look(self, now: float, slots: SlotsReport | None) -> float:
        """Take what the slots show, None when they can't be had; give the time of the next look.

        Raises:
            ModelFailure: nothing came, or nothing that counts, for too long.
        """
        if self.heard_at != self._looked_at_silence_of:
            self._looked_at_silence_of = self._silent_since = self.heard_at
            self._slots = None
        if self._slots is not None and slots is not None and slots.prompt_moved_since(self._slots):
            self._silent_since = now
        self._slots = slots
        if self.is_stuck(now):
            said = f"llama-server sent no token and no progress for {self._progress_s:g} s (progress_ms)"
            raise ModelFailure(ErrorKind.STALLED, said)
        silent_at = self._silent_since + self._liveness_s
        if now >= silent_at:
            said = f"llama-server was silent for {self._liveness_s:g} s (liveness_ms)"
            raise ModelFailure(ErrorKind.STALLED, said)
        return min(silent_at, self._stuck_at)
