"""What llama-server tells of tokens and times along a stream, in every form that its versions have (L4, L5).

Above: `completion`. Below: `completion_events`, `usage`.
"""

from __future__ import annotations

from typing import cast

from service.core.completion_events import CompletionUsage, PromptProgress
from service.core.json_types import JsonObject, JsonValue
from service.core.server_error import token_count
from service.core.usage import Timings

# Milliseconds or tokens a second that no machine reaches; what is below fits a float, and NaN is never below.
_ABSURD = 1e15


class TokenReport:
    """Keep the newest of what was told; counts that make no sense are not taken."""

    def __init__(self) -> None:
        self._prompt: int | None = None
        self._cached: int | None = None
        self._completion: int | None = None
        self._reasoning: int | None = None
        self._evaluated: int | None = None
        self._from_cache: int | None = None
        self._predicted: int | None = None
        self._progress: PromptProgress | None = None
        self.timings = Timings()

    def take_usage(self, usage: JsonValue) -> None:
        """Take the `usage` of a chunk; builds send it with the finish reason or in a chunk of its own."""
        members = _object(usage)
        self._prompt = _newer(members.get("prompt_tokens"), self._prompt)
        self._completion = _newer(members.get("completion_tokens"), self._completion)
        prompt_details = _object(members.get("prompt_tokens_details"))
        self._cached = _newer(prompt_details.get("cached_tokens"), self._cached)
        completion_details = _object(members.get("completion_tokens_details"))
        self._reasoning = _newer(completion_details.get("reasoning_tokens"), self._reasoning)

    def take_timings(self, timings: JsonValue) -> None:
        """Take the `timings` of the end; `prompt_n` counts what was evaluated, `cache_n` what was not."""
        members = _object(timings)
        self._evaluated = _newer(members.get("prompt_n"), self._evaluated)
        self._predicted = _newer(members.get("predicted_n"), self._predicted)
        self._from_cache = _newer(members.get("cache_n"), self._from_cache)
        self.timings = Timings(
            prompt_ms=_number(members.get("prompt_ms")),
            predicted_ms=_number(members.get("predicted_ms")),
            prompt_per_second=_number(members.get("prompt_per_second")),
            predicted_per_second=_number(members.get("predicted_per_second")),
        )

    def take_progress(self, progress: JsonValue) -> PromptProgress | None:
        """Take `prompt_progress`; None when it tells no counts."""
        members = _object(progress)
        processed, total = token_count(members.get("processed")), token_count(members.get("total"))
        if processed is None or total is None:
            return None
        self._progress = PromptProgress(
            processed=processed,
            cached=min(token_count(members.get("cache")) or 0, processed),
            total=total,
            time_ms=int(_number(members.get("time_ms"))),
        )
        return self._progress

    @property
    def is_complete(self) -> bool:
        """Whether the server told both counts, so that nothing need be estimated."""
        return self._told_prompt() is not None and self._told_completion() is not None

    def usage(self, *, pieces: int, reasoning_pieces: int, prompt_estimate: int) -> CompletionUsage:
        """Give the counts; what was not told is the pieces counted, the progress told, or the estimate."""
        prompt = self._told_prompt()
        if prompt is None:
            prompt = self._progress.total if self._progress else prompt_estimate
        cached = self._from_cache if self._cached is None else self._cached
        if cached is None:
            cached = self._progress.cached if self._progress else 0
        completion = self._told_completion()
        if completion is None:
            completion = pieces
        reasoning = reasoning_pieces if self._reasoning is None else self._reasoning
        return CompletionUsage(
            prompt_tokens=prompt,
            cached_tokens=min(cached, prompt),
            completion_tokens=completion,
            reasoning_tokens=min(reasoning, completion),
        )

    def _told_prompt(self) -> int | None:
        if self._prompt is None and self._evaluated is not None:
            return self._evaluated + (self._from_cache or 0)
        return self._prompt

    def _told_completion(self) -> int | None:
        return self._predicted if self._completion is None else self._completion


def _object(value: JsonValue) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def _newer(value: JsonValue, older: int | None) -> int | None:
    count = token_count(value)
    return older if count is None else count


def _number(value: JsonValue) -> float:
    is_number = type(value) is float or type(value) is int
    return float(value) if is_number and 0 <= value < _ABSURD else 0.0
