"""What a stream of one completion gives: pieces as they come, and the whole at its end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from service.core.usage import Timings


class FinishReason(StrEnum):
    """The finish reasons that change what happens; any other text is treated like `stop` (T4)."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    CANCELLED = "cancelled"
    ERROR = "error"


# These two are made at each token, at a quarter of what a dataclass takes.
class ReasoningText(msgspec.Struct, frozen=True, gc=False):
    """A piece of thought; never empty."""

    text: str


class ContentText(msgspec.Struct, frozen=True, gc=False):
    """A piece of the answer; never empty."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptProgress:
    """Prompt processing in tokens; `processed` includes `cached`."""

    processed: int
    cached: int
    total: int
    time_ms: int


class WaitReason(StrEnum):
    """Why there is no first byte yet (L2, L7)."""

    SLOT_BUSY = "slot_busy"
    IDLE = "idle"
    LOADING = "loading"


@dataclass(frozen=True, slots=True, kw_only=True)
class StillWaiting:
    """The request waits for its first byte; `waited_ms` is how long it has been so for this reason (L2)."""

    reason: WaitReason
    waited_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The server has begun with the completion that it calls by this id: what its thought can be ended by (L6)."""

    completion_id: str


CompletionDelta = StillWaiting | Begun | ReasoningText | ContentText | PromptProgress
"""What comes before and while a completion streams; deltas of tool calls are not shown (T2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """A tool call as the model sent it: the id may be missing, the arguments may be anything."""

    id: str | None
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionUsage:
    """Token counts of one completion; `cached` of the prompt's tokens came from the cache."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    reasoning_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenProbability:
    """A token of the answer: its bytes, the logarithm of its probability, and what else could have stood there.

    The probabilities are the model's own, before any grammar and any sampling: at temperature 0 too, and so the
    alternatives may be such that the answer's schema forbids. The alternatives hold the token itself where it is
    among the likeliest. `logprob` is None for text that the server told no probability of.
    """

    text: bytes
    logprob: float | None
    alternatives: tuple[tuple[bytes, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A finished completion; `estimated` when the server told no usage and the counts are ours (L4).

    `tokens`, joined, are the content, byte for byte; empty where they were not asked for or not told.
    """

    content: str
    reasoning: str
    calls: tuple[ModelCall, ...]
    finish_reason: str
    usage: CompletionUsage
    timings: Timings = Timings()
    estimated: bool = False
    tokens: tuple[TokenProbability, ...] = ()
