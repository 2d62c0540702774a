"""Cuts a text into chunks of whole words that keep to a budget of tokens; put together they are the text."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from benchmarks.reading.failures import AttemptFailed

# Words with the space behind them. What has no space for long, or nothing else, is cut all the same.
_PIECE = re.compile(r"\S{1,200}\s{0,50}|\s{1,50}")
_FIRST_GUESS_TOKENS_PER_PIECE = 1.5
# Below the budget by this share, so that one count is mostly enough.
_AIM = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a text, from byte `start` to before byte `end`."""

    text: str
    start: int
    end: int
    tokens: int


async def cut(text: str, budget: int, count: Callable[[str], Awaitable[int]]) -> list[Chunk]:
    """Cut the text into chunks of at most `budget` tokens.

    Each chunk is counted as it is cut, and again only when it came out too long.

    Raises:
        AttemptFailed: a single word has more tokens than the budget.
    """
    pieces = _PIECE.findall(text)
    per_piece = _FIRST_GUESS_TOKENS_PER_PIECE
    chunks: list[Chunk] = []
    at, start = 0, 0
    while at < len(pieces):
        take = _fitting(budget, per_piece, len(pieces) - at)
        while (tokens := await count(part := "".join(pieces[at : at + take]))) > budget:
            if take == 1:
                raise AttemptFailed(f"one word has {tokens} tokens, more than a chunk of {budget}")
            take = _fitting(budget, tokens / take, take - 1)
        per_piece = max(tokens / take, 0.01)
        end = start + len(part.encode())
        chunks.append(Chunk(text=part, start=start, end=end, tokens=tokens))
        at, start = at + take, end
    return chunks


def _fitting(budget: int, per_piece: float, most: int) -> int:
    return max(1, min(most, int(budget * _AIM / per_piece)))
