"""What an attempt costs: calls and tokens."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Sums over model calls. `evaluated_tokens` are the tokens of prompts that came from no cache."""

    calls: int = 0
    evaluated_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            calls=self.calls + other.calls,
            evaluated_tokens=self.evaluated_tokens + other.evaluated_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


class Meter:
    """Adds up what one attempt spends, so that it is known also when the attempt fails."""

    def __init__(self) -> None:
        self.spent = Spent()

    def add(self, spent: Spent) -> None:
        """Count this too."""
        self.spent += spent
