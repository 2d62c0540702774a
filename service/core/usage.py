"""What completions cost, in tokens and milliseconds (T14)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """llama-server's own measurements of one completion; rates in tokens per second."""

    prompt_ms: float = 0.0
    predicted_ms: float = 0.0
    prompt_per_second: float = 0.0
    predicted_per_second: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotals:
    """Sums over completions: the USAGE of DESIGN section 3."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    completions: int = 0
    tool_calls: int = 0

    def __add__(self, other: UsageTotals) -> UsageTotals:
        """Add two sums member by member."""
        return UsageTotals(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            completions=self.completions + other.completions,
            tool_calls=self.tool_calls + other.tool_calls,
        )
