"""How long a stream may be silent, or alive without getting on (L4).

Above: the adapter, which has the clock. Below: `errors`.
"""

from __future__ import annotations

from service.core.errors import ErrorKind, ModelFailure


class StreamPatience:
    """Two clocks, which run only while we wait for the server: a slow reader of ours can't make it look stuck."""

    def __init__(self, *, liveness_ms: int, progress_ms: int) -> None:
        self._liveness_s = liveness_ms / 1000
        self._progress_s = progress_ms / 1000
        self._advances = -1
        self._advanced_at = 0.0

    def deadline(self, now: float, advances: int) -> tuple[float, ModelFailure]:
        """Begin to wait for bytes: until when, in seconds, and what it is when none have come by then.

        `advances` grows with each token and each step of prompt processing.
        """
        if advances != self._advances:
            self._advances, self._advanced_at = advances, now
        silent_at, stuck_at = now + self._liveness_s, self._advanced_at + self._progress_s
        if silent_at <= stuck_at:
            said = f"llama-server was silent for {self._liveness_s:g} s (liveness_ms)"
        else:
            said = f"llama-server sent no token and no progress for {self._progress_s:g} s (progress_ms)"
        return min(silent_at, stuck_at), ModelFailure(ErrorKind.STALLED, said)
