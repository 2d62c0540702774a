"""Whether every call of a reading fits the context, decided before the first one (R10). All sizes are tokens."""

from __future__ import annotations

from dataclasses import dataclass

from service.core.errors import TurnkeeperError
from service.core.reading.options import ReadingOptions

LARGEST_CHUNK = 5000
"""What a chunk is at most when nobody says: GRU-Mem's own size."""

SMALLEST_CHUNK = 128
"""Below this a reading is calls without text."""

# Texts that are counted alone may be a few tokens longer where they meet.
_SEAMS = 16


class TooSmallContext(TurnkeeperError):
    """The calls would not fit; `reason` is a sentence that says what to do."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much of the context each part may take."""

    chunk_tokens: int
    answer_tokens: int


def answer_tokens(memory_budget: int) -> int:
    """Give what the model may write in one call (R3)."""
    return 2 * memory_budget + 256


def sizes(options: ReadingOptions, *, context_tokens: int, frame_tokens: int) -> Sizes:
    """Share out the context; `frame_tokens` are those of a prompt with neither memory nor chunk.

    Raises:
        TooSmallContext: it does not fit.
    """
    writing = answer_tokens(options.memory_budget)
    room = context_tokens - frame_tokens - options.memory_budget - writing - _SEAMS
    # At level 2 what stands in the chunk's place is a memory.
    needed = max(SMALLEST_CHUNK, options.memory_budget if options.level > 1 else 0, options.chunk_tokens or 0)
    if room < needed:
        raise TooSmallContext(
            f"The context of {context_tokens} tokens has {max(0, room)} tokens for a chunk, {needed} are needed: "
            f"the instructions and the question take {frame_tokens}, the memory {options.memory_budget}, and what the "
            f"model may write {writing} (2 x memory_budget + 256). Ask for a smaller memory_budget or chunk_tokens, "
            "or start llama-server with a larger context for each slot."
        )
    return Sizes(chunk_tokens=options.chunk_tokens or min(LARGEST_CHUNK, room), answer_tokens=writing)
