"""Whoever counts for those who watch the service: what it is told of, and what it asks at each look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from service.core.errors import ErrorKind
from service.core.reading.records import ReadingEntry, ReadingOutcome
from service.core.records import Entry, Limit, Outcome
from service.core.usage import UsageTotals


class Work(StrEnum):
    """What a completion was for."""

    TURN = "turn"
    SUMMARY = "summary"
    READING = "reading"


class Decided(StrEnum):
    """What became of a call that waited for a person."""

    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCost:
    """What a turn that has ended took.

    `duration_s` counts from its message without `paused_s`, the waits for people; None of one that never left its
    queue. `gate_wait_s` and `first_token_s` are what this process measured: its waits for permits, and the time from
    the message to the first text, without waits for people; None where there was none, or a process before this one
    began the turn.
    """

    outcome: Outcome
    limit: Limit | None
    error: ErrorKind | None
    steps: int
    usage: UsageTotals
    duration_s: float | None
    paused_s: float
    gate_wait_s: float
    first_token_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingCost:
    """What a reading that has ended took; `gate_wait_s` is what this process waited for permits, over all lanes."""

    outcome: ReadingOutcome
    error: ErrorKind | None
    documents: int
    chunks_seen: int
    chunks_used: int
    usage: UsageTotals
    duration_s: float
    gate_wait_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How things stand at one moment; a turn whose child waits for people waits for them, too.

    `oldest_approval_age_s` is 0 where nothing waits for a person.
    """

    permits: int
    permits_in_use: int
    permits_waited_for: int
    turns_running: int
    turns_awaiting_approval: int
    turns_queued: int
    approvals_pending: int
    oldest_approval_age_s: float
    readings_open: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSize:
    """The bytes of a store's files, and those that are left where they are."""

    database_bytes: int
    wal_bytes: int
    free_bytes: int


class Meter(Protocol):
    """What is counted for whoever watches the service. Nothing here waits or raises."""

    def appended(self, entries: Sequence[Entry]) -> None:
        """Count records of a session that are in the log now."""
        ...

    def appended_to_reading(self, entries: Sequence[ReadingEntry]) -> None:
        """Count records of a reading that are in the log now."""
        ...

    def turn_ended(self, cost: TurnCost) -> None:
        """Count a turn whose end is in the log now."""
        ...

    def reading_ended(self, cost: ReadingCost) -> None:
        """Count a reading whose end is in the log now."""
        ...

    def decided(self, what: Decided, waited_s: float) -> None:
        """Count what became of a call that waited for a person, and how long it did."""
        ...

    def admitted(self, work: Work, waited_s: float) -> None:
        """Take note of how long a completion waited for its permit."""
        ...

    def context_filled(self, fill: float) -> None:
        """Take note of how full a session's context was after a completion, 1 being full (P7)."""
        ...
