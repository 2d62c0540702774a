"""How fast a reading goes, and how long it will take: of what this start of the service has read itself."""

from __future__ import annotations

from service.core.reading.machine import open_chunks
from service.core.reading.signals import ReadingProgress
from service.core.reading.state import ReadingLogState
from service.core.usage import UsageTotals
from service.ports import Clock


class Pace:
    """Times chunks; the time of chunks that are read side by side counts once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begun_at = clock.monotonic()
        self._chunks = 0
        self._tokens = 0

    def chunk_read(self, spent: UsageTotals) -> None:
        """Count a chunk that is resolved: the tokens that the server had to evaluate, and those that it wrote."""
        self._chunks += 1
        self._tokens += spent.prompt_tokens - spent.cached_tokens + spent.completion_tokens

    def progress(self, state: ReadingLogState) -> ReadingProgress:
        """Say how far the reading is."""
        left = open_chunks(state)
        seconds = self._clock.monotonic() - self._begun_at
        known = self._chunks > 0 and seconds > 0
        return ReadingProgress(
            chunks_seen=state.chunks_seen,
            chunks=state.chunks_seen + left,
            tokens_per_second=round(self._tokens / seconds, 1) if known else None,
            left_s=round(left * seconds / self._chunks, 1) if known else None,
        )
