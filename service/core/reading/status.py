"""What a reading's row tells without its log being read; always derived from the log."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from service.core.reading.records import ReadingOutcome
from service.core.records.outcomes import TurnError
from service.core.usage import UsageTotals


class ReadingState(StrEnum):
    """What a reading does now."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingStatus:
    """How far a reading is; `chunks` has the number of chunks of each document, empty until they are planned."""

    state: ReadingState = ReadingState.QUEUED
    outcome: ReadingOutcome | None = None
    error: TurnError | None = None
    chunks: tuple[int, ...] = ()
    chunks_seen: int = 0
    chunks_used: int = 0
    calls: int = 0
    answer: str | None = None
    usage: UsageTotals = UsageTotals()
