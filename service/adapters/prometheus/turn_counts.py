"""What records of sessions add to, and what turns took when they end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from service.adapters.prometheus import catalogue as known
from service.adapters.prometheus.numbers import Spread, counts, spreads
from service.adapters.prometheus.token_counts import TokenCounts
from service.core.ids import SessionId
from service.core.records import (
    ApprovalRequested,
    Attempt,
    CacheLoss,
    Entry,
    Record,
    Resumed,
    StepUsage,
    Summary,
    ToolCallStarted,
    ToolResult,
)
from service.ports.meter import TurnCost, Work


class TurnCounts:
    """Counts what is appended to sessions."""

    def __init__(self, tokens: TokenCounts) -> None:
        self._tokens = tokens
        self.turns = counts(known.TURNS)
        self.errors = counts(known.TURN_ERRORS)
        self.durations = spreads(known.TURN_DURATION)
        self.first_tokens = Spread(known.FIRST_TOKEN.buckets)
        self.resumed = counts(known.TURNS_RESUMED)
        self.attempts = counts(known.ATTEMPTS)
        self.losses = counts(known.CACHE_LOSSES)
        self.lost_tokens = counts(known.CACHE_LOST_TOKENS)
        self.compactions = counts(known.COMPACTIONS)
        self.freed_tokens = counts(known.COMPACTION_FREED)
        self.calls = counts(known.TOOL_CALLS)
        self.call_durations = spreads(known.TOOL_CALL_DURATION)
        self.requested = counts(known.APPROVALS_REQUESTED)
        # Calls at the port. Each has a result once its turn has ended, so this empties by itself.
        self._sent: dict[tuple[SessionId, int], datetime] = {}

    def take(self, entries: Sequence[Entry]) -> None:
        """Count records."""
        for entry in entries:
            match entry.record:
                case StepUsage() as usage:
                    self._tokens.add(usage, Work.SUMMARY if usage.summary else Work.TURN, 1)
                    if usage.summary:
                        self.compactions["fruitless",] += 1
                case ToolCallStarted(call=call):
                    self._sent[entry.session, call] = entry.time
                case ToolResult() as result:
                    self._take_result(entry, result)
                case record:
                    self._take_rarer(entry, record)

    def _take_rarer(self, entry: Entry, record: Record) -> None:
        match record:
            case Attempt(kind=kind):
                self.attempts[kind,] += 1
            case CacheLoss(reason=reason, lost_tokens=lost_tokens):
                self.losses[reason,] += 1
                self.lost_tokens[reason,] += lost_tokens
            case Summary() as summary:
                self._take_summary(summary)
            case ApprovalRequested(calls=calls):
                self.requested[()] += len(calls)
                for asked in calls:
                    # Where the port wanted to be asked it did nothing, and the call is sent once more (A1b).
                    self._sent.pop((entry.session, asked.call), None)
            case Resumed():
                self.resumed[()] += 1
            case _:
                pass

    def _take_result(self, entry: Entry, result: ToolResult) -> None:
        self.calls[result.status,] += 1
        sent_at = self._sent.pop((entry.session, result.call), None)
        if sent_at is not None:
            self.call_durations[result.status,].add(max(0.0, (entry.time - sent_at).total_seconds()))

    def _take_summary(self, summary: Summary) -> None:
        # Only a summary that the model wrote cost something; the rest is old results that were cut.
        self.compactions["summarised" if summary.usage.completions else "shortened",] += 1
        self.freed_tokens[()] += max(0, summary.tokens_before - summary.tokens_after)
        self._tokens.add(summary.usage, Work.SUMMARY, summary.usage.completions)

    def take_end(self, cost: TurnCost) -> None:
        """Count a turn that has ended."""
        self.turns[cost.outcome, cost.limit or known.NO_LIMIT] += 1
        if cost.error is not None:
            self.errors[cost.error,] += 1
        if cost.duration_s is not None:
            self.durations[cost.outcome,].add(cost.duration_s)
        if cost.first_token_s is not None:
            self.first_tokens.add(cost.first_token_s)
