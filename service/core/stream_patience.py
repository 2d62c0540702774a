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
    """

    def __init__(self, *, liveness_ms: int, progress_ms: int) -> None:
        self._liveness_s = liveness_ms / 1000
        self._progress_s = progress_ms / 1000
        self._advances = -1
        self._stuck_at = 0.0
        self._silent_at = 0.0
        self._slots: SlotsReport | None = None

    def begin(self, now: float, advances: int) -> float:
        """Begin to wait for bytes; give the time, in seconds, at which `look` is due when none have come.

        `advances` grows with each token and each step of prompt processing.
        """
        if advances != self._advances:
            self._advances, self._stuck_at = advances, now + self._progress_s
        self._silent_at = now + self._liveness_s
        self._slots = None
        return min(now + self._liveness_s / 2, self._stuck_at)

    def is_stuck(self, now: float) -> bool:
        """Say whether nothing has advanced for too long: then no look changes that."""
        return now >= self._stuck_at

    def look(self, now: float, slots: SlotsReport | None) -> float:
        """Take what the slots show, None when they can't be had; give the time of the next look.

        Raises:
            ModelFailure: nothing came, or nothing that counts, for too long.
        """
        if self._slots is not None and slots is not None and slots.prompt_moved_since(self._slots):
            self._silent_at = now + self._liveness_s
        self._slots = slots
        if self.is_stuck(now):
            said = f"llama-server sent no token and no progress for {self._progress_s:g} s (progress_ms)"
            raise ModelFailure(ErrorKind.STALLED, said)
        if now >= self._silent_at:
            said = f"llama-server was silent for {self._liveness_s:g} s (liveness_ms)"
            raise ModelFailure(ErrorKind.STALLED, said)
        return min(self._silent_at, self._stuck_at)
