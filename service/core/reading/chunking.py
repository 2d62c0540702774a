"""Where a long text is cut into chunks of at most so many tokens, by the model server's own counts (R1).

`semantic-text-splitter` says where: at the ends of paragraphs rather than of sentences, of sentences rather than of
words; in Markdown at headings and blocks before all. It measures in characters, of which one count of the server tells
how many a token has just here. So a chunk costs one count, and now and then a second: a piece that turns out too
long or far too short is cut anew.

Nothing is remembered between texts: the same text, budget and counts give the same chunks.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from service.core.errors import TurnkeeperError

# One character is at most four bytes, each at most a token; some tokenizers put one more at either end.
MINIMUM_BUDGET = 16

# Characters a token, before anything is known; between English and Chinese.
_FIRST_RATIO = 3.0
# A row of spaces may be one token. What follows it is not like it, and a request has to stay small.
_MOST_RATIO = 16.0
# How full a piece is meant to be: neighbours differ by some percent, and a piece over the budget costs a count.
_AIM = 0.95
# A count is some milliseconds, a chunk more is an answer of the model more: below this another piece is tried.
_ENOUGH = 0.85
_MOST_GROWTHS = 4
_GROWTH_FACTOR = 4.0
_FIRST_SHRINKING = 0.05
_MOST_SHRINKING = 0.5
# A boundary is seen by what stands behind it.
_LOOK_AHEAD = 128
# Rounds of looking for a lower boundary; each line-end run of another length is a level of its own.
_MOST_LEVELS = 8

_Splitter = type[TextSplitter] | type[MarkdownSplitter]


class BudgetTooSmall(TurnkeeperError, ValueError):
    """A budget of tokens below `MINIMUM_BUDGET`, or one that a single character is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A counted part of the text; both ends in code points."""

    start: int
    end: int
    tokens: int

    @property
    def length(self) -> int:
        return self.end - self.start


class Cutting:
    """Cuts one text, asking for counts of tokens as it goes.

    ```
    cutting = Cutting(text, budget=2048, media_type="text/plain")
    while (piece := cutting.question) is not None:
        cutting.answer(await count_tokens(piece))
    cutting.ends
    ```

    Put together the chunks are the text, byte for byte. Each was counted alone, as it is given, at no more than
    `budget` tokens. A chunk is white space only where it can't be joined to a neighbour within the budget. An empty
    text has no chunk and asks nothing.
    """

    __slots__ = ("_asking", "_pieces", "_question", "_text")

    def __init__(self, text: str, *, budget: int, media_type: str) -> None:
        """Take the text, which must be encodable as UTF-8, and find the first question.

        Args:
            text: What to cut.
            budget: The most tokens that a chunk may have.
            media_type: `text/markdown` is cut by its blocks and headings, all else by its lines.

        Raises:
            BudgetTooSmall: The budget is below `MINIMUM_BUDGET`.
        """
        if budget < MINIMUM_BUDGET:
            raise BudgetTooSmall(f"A chunk needs a budget of at least {MINIMUM_BUDGET} tokens, not {budget}.")
        self._text = text
        self._pieces: list[_Piece] = []
        self._asking = _cut(text, budget, _splitter_for(media_type), self._pieces)
        self._question = next(self._asking, None)

    @property
    def question(self) -> str | None:
        """The piece of text whose tokens are to be counted next; None once all is cut."""
        return self._question

    def answer(self, tokens: int) -> None:
        """Say how many tokens the piece in question has; the work done is in proportion to one chunk.

        Raises:
            BudgetTooSmall: The piece is one character and over the budget; there are no chunks then.
            ValueError: Nothing was asked.
        """
        if self._question is None:
            raise ValueError("All is cut, there is no question to answer.")
        self._question = None
        try:
            self._question = self._asking.send(tokens)
        except StopIteration:
            return

    @property
    def ends(self) -> tuple[int, ...]:
        """Where each chunk ends, in bytes of the text's UTF-8; the last is its length. All, once nothing is asked."""
        ends: list[int] = []
        for piece in self._pieces:
            length = len(self._text[piece.start : piece.end].encode())
            ends.append(length + (ends[-1] if ends else 0))
        return tuple(ends)

    @property
    def tokens(self) -> tuple[int, ...]:
        """How many tokens each chunk has, as counted."""
        return tuple(piece.tokens for piece in self._pieces)


def _splitter_for(media_type: str) -> _Splitter:
    essence = media_type.partition(";")[0].strip().lower()
    return MarkdownSplitter if essence == "text/markdown" else TextSplitter


def _cut(text: str, budget: int, splitter: _Splitter, pieces: list[_Piece]) -> Generator[str, int]:
    place, ratio = 0, _FIRST_RATIO
    while place < len(text):
        piece = yield from _next_piece(text, place, budget, ratio, splitter)
        place = piece.end
        ratio = min(piece.length / max(piece.tokens, 1), _MOST_RATIO)
        yield from _put_behind(pieces, piece, text, budget)


def _next_piece(text: str, start: int, budget: int, ratio: float, splitter: _Splitter) -> Generator[str, int, _Piece]:
    rest, full = len(text) - start, max(int(budget * ratio), 1)
    wanted = rest if rest <= full else max(int(full * _AIM), 1)
    piece = yield from _counted(text, start, _end_of_cut(text, start, wanted, splitter))
    too_long: _Piece | None = None
    shrinking = _FIRST_SHRINKING
    while piece.tokens > budget:
        if piece.length == 1:
            raise BudgetTooSmall(f"One character has {piece.tokens} tokens, over the budget of {budget} for a chunk.")
        too_long = piece
        wanted = max(int(piece.length * min(_AIM * budget / piece.tokens, 1 - shrinking)), 1)
        # Where tokens are not spread evenly the ratio may be off again and again, so each step is bolder.
        shrinking = min(shrinking * 2, _MOST_SHRINKING)
        piece = yield from _counted(text, start, _end_of_cut(text, start, wanted, splitter))
    return (yield from _grown(text, piece, too_long, budget, splitter))


def _grown(
    text: str, piece: _Piece, too_long: _Piece | None, budget: int, splitter: _Splitter
) -> Generator[str, int, _Piece]:
    """Give a longer piece where this one leaves much of the budget unused and the text's structure allows it."""
    for _ in range(_MOST_GROWTHS):
        if piece.end == len(text) or piece.tokens >= budget * _ENOUGH:
            break
        end = _end_of_cut(text, piece.start, _longer(piece, too_long, budget), splitter)
        if end <= piece.end or (too_long is not None and end >= too_long.end):
            break
        longer = yield from _counted(text, piece.start, end)
        if longer.tokens <= budget:
            piece = longer
        else:
            too_long = longer
    return piece


def _longer(piece: _Piece, too_long: _Piece | None, budget: int) -> int:
    missing = budget * _AIM - piece.tokens
    if too_long is None:
        return int(piece.length * min(1 + missing / max(piece.tokens, 1), _GROWTH_FACTOR))
    characters = too_long.length - piece.length
    return piece.length + int(characters * missing / max(too_long.tokens - piece.tokens, 1))


def _counted(text: str, start: int, end: int) -> Generator[str, int, _Piece]:
    tokens = yield text[start:end]
    return _Piece(start=start, end=end, tokens=tokens)


def _end_of_cut(text: str, start: int, wanted: int, splitter: _Splitter) -> int:
    """Give the best place for a cut at most `wanted` characters from `start`.

    Best is the last boundary of the highest kind that leaves at least half: a heading alone is no chunk.
    """
    if len(text) - start <= wanted:
        return len(text)
    window = text[start : start + wanted + _LOOK_AHEAD]
    length = 0
    for _ in range(_MOST_LEVELS):
        if length * 2 >= wanted:
            break
        pieces = splitter(wanted - length, trim=False).chunks(window[length:])
        length += len(pieces[0])
    return start + length


def _put_behind(pieces: list[_Piece], piece: _Piece, text: str, budget: int) -> Generator[str, int]:
    """Put a piece behind the others, as one with the last where just one of the two is white space and they fit."""
    while pieces and _is_white(text, pieces[-1]) != _is_white(text, piece):
        joined = yield from _counted(text, pieces[-1].start, piece.end)
        if joined.tokens > budget:
            break
        pieces.pop()
        piece = joined
    pieces.append(piece)


def _is_white(text: str, piece: _Piece) -> bool:
    return text[piece.start : piece.end].isspace()
