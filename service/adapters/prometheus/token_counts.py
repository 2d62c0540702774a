"""What completions cost in tokens, whatever they were for."""

from __future__ import annotations

from typing import Protocol

from service.adapters.prometheus import catalogue as known
from service.adapters.prometheus.numbers import counts
from service.ports.meter import Work


class Spent(Protocol):
    """Whatever says what completions cost."""

    @property
    def prompt_tokens(self) -> int:
        """Those that were found in the cache among them."""
        ...

    @property
    def cached_tokens(self) -> int:
        """Of the prompts."""
        ...

    @property
    def completion_tokens(self) -> int:
        """Those of thought among them."""
        ...

    @property
    def reasoning_tokens(self) -> int:
        """Of the completions."""
        ...


class TokenCounts:
    """Counts tokens and completions."""

    def __init__(self) -> None:
        self.completions = counts(known.COMPLETIONS)
        self.tokens = counts(known.TOKENS)
        self.reasoning = counts(known.REASONING_TOKENS)

    def add(self, spent: Spent, work: Work, completions: int) -> None:
        """Count what so many completions cost."""
        tokens, cached, prompt = self.tokens, spent.cached_tokens, spent.prompt_tokens
        self.completions[work,] += completions
        tokens["cached", work] += cached
        # A server may say that it found more than there is.
        tokens["evaluated", work] += prompt - cached if prompt > cached else 0
        tokens["generated", work] += spent.completion_tokens
        self.reasoning[work,] += spent.reasoning_tokens
