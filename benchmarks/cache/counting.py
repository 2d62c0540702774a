"""Which of a prompt's tokens were evaluated again though they need not be. Above: `run`. Below: nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One completion, in tokens.

    `known` are those of the prompt without the new message: all of that was evaluated for this conversation before,
    as prompt or as answer. `cached` is what llama-server found in its cache.
    """

    prompt: int
    cached: int
    known: int

    @property
    def evaluated(self) -> int:
        """What was evaluated for this prompt."""
        return self.prompt - self.cached

    @property
    def needless(self) -> int:
        """What of that had been evaluated before."""
        return max(0, self.known - self.cached)


def needless_share(served: Iterable[Served]) -> float:
    """Give the share of all prompt tokens, in %, that were evaluated again though they need not be."""
    all_served = list(served)
    prompts = sum(one.prompt for one in all_served)
    return 100 * sum(one.needless for one in all_served) / prompts if prompts else 0.0
