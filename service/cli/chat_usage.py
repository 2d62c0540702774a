"""What a turn has used of its limits, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from service.cli.words import counted, seconds_in_words
from service.core.baseline import Limits
from service.core.records import StepUsage, TurnFinished


@dataclass(slots=True)
class TurnUsage:
    """Known so far: `limits` by the turn's message, `context_tokens` is the size of the context (None: not known)."""

    context_tokens: int | None = None
    limits: Limits | None = None
    batches: int = 0
    used_tokens: int = 0
    began: datetime | None = None

    @property
    def thinking_cap(self) -> int | None:
        """The limit thinking_tokens."""
        return None if self.limits is None else self.limits.thinking_tokens

    def take(self, usage: StepUsage) -> None:
        """Take what a completion cost."""
        if not usage.discarded:
            self.used_tokens = usage.prompt_tokens + usage.completion_tokens

    def limits_in_words(self) -> str:
        """Say what is used while the turn goes on; empty at its beginning."""
        return " · ".join([*self._batches(), *self._context()])

    def in_words(self, end: TurnFinished, time: datetime | None) -> str:
        """Say what the whole turn has cost."""
        usage = end.usage
        cached = f", {usage.cached_tokens} of them cached" if usage.cached_tokens else ""
        thought = f", {usage.reasoning_tokens} of them thought" if usage.reasoning_tokens else ""
        parts = [
            counted(end.steps, "step"),
            *([counted(usage.tool_calls, "call")] if usage.tool_calls else []),
            *self._batches(),
            f"{counted(usage.prompt_tokens, 'token')} read{cached}",
            f"{usage.completion_tokens} written{thought}",
            *self._context(),
            *self._time(time),
        ]
        return " · ".join(parts)

    def _batches(self) -> list[str]:
        if not self.batches:
            return []
        if self.limits is None:
            return [f"batch {self.batches}"]
        most = self.limits.tool_iterations
        return [f"batch {min(self.batches, most)} of at most {most}"]

    def _context(self) -> list[str]:
        if not self.used_tokens or not self.context_tokens:
            return []
        share = 100 * self.used_tokens // self.context_tokens
        return [f"context {self.used_tokens} of {self.context_tokens} tokens ({share} %)"]

    def _time(self, time: datetime | None) -> list[str]:
        if time is None or self.began is None:
            return []
        most = self.limits.turn_time_s if self.limits is not None else 0
        bound = f" of at most {seconds_in_words(most)}" if most else ""
        return [f"{seconds_in_words((time - self.began).total_seconds())}{bound}"]
