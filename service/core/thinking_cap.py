"""The cap on a step's thought, when the server does not keep its budget (L6).

The budget goes with the request, and most servers end the thought there. Where one does not, it is told to end it
through its control endpoint; where that does not help either, the stream is closed.
"""

from __future__ import annotations

from enum import StrEnum

# How far a thought may run over before each measure, in tokens: a server may be a little late.
SLACK_TOKENS = 64

# The server counts the closing tag and joins a few tokens to one delta, so a thought that it cut at its budget
# shows as this many deltas fewer.
_CUT_SHOWS_FEWER = 4


class CapMeasure(StrEnum):
    """What is to be done about a thought that runs on."""

    END_THOUGHT = "end_thought"
    CLOSE = "close"


class ThinkingCap:
    """Counts the thought of one attempt; one delta counts as one token."""

    def __init__(self, budget_tokens: int | None) -> None:
        self._budget = budget_tokens
        self._asked_to_end = False

    def measure(self, reasoning_tokens: int) -> CapMeasure | None:
        """Say what is due at this length; each measure once."""
        if self._budget is None:
            return None
        over = reasoning_tokens - self._budget
        if over >= 2 * SLACK_TOKENS:
            return CapMeasure.CLOSE
        if over >= SLACK_TOKENS and not self._asked_to_end:
            self._asked_to_end = True
            return CapMeasure.END_THOUGHT
        return None

    def reached(self, reasoning_tokens: int) -> bool:
        """Say whether the thought came to its budget."""
        return self._budget is not None and reasoning_tokens >= max(1, self._budget - _CUT_SHOWS_FEWER)
