"""Search among tools by the words of a question (X4).

Above: the local tool `find_tool`. Below: `search_words`, which says what a word is and which are near to it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

from service.core.search_words import query_terms, text_words
from service.core.tool_port import ToolSpec

# What a word counts for by where it stands, and one in place of which the question has a word near to it.
_NAME, _TITLE, _DESCRIPTION = 3.0, 2.0, 1.0
_NEARNESS = 0.8
# Okapi BM25's usual constants: how fast a repeated word stops counting, how much a long text is held against it.
_SATURATION = 1.2
_LENGTH_PENALTY = 0.75


class ToolIndex:
    """Finds tools by the words of a question: BM25 over name, title and description (X4)."""

    def __init__(self, specs: Iterable[ToolSpec]) -> None:
        self._specs = tuple(specs)
        self._positions = {spec.name: position for position, spec in enumerate(self._specs)}
        self._presence = _presence(self._specs)

    def find(self, query: str, *, limit: int) -> tuple[ToolSpec, ...]:
        """Return at most `limit` tools that share a word with the query or have one near to it, best first.

        Ties stay in the order of the list. A query that is a tool's name gives that tool first.
        """
        scores: defaultdict[int, float] = defaultdict(float)
        for word, near_words in query_terms(query).items():
            for position, gain in self._gains(word, near_words).items():
                scores[position] += gain
        named = self._positions.get(query.strip())
        if named is not None:
            scores[named] = math.inf
        best = sorted(scores, key=lambda position: (-scores[position], position))
        return tuple(self._specs[position] for position in best[: max(limit, 0)])

    def _gains(self, word: str, near_words: tuple[str, ...]) -> dict[int, float]:
        """Return what a word of the query adds to each tool's score: its own match or a near one, whichever is more.

        The near words count as one word, or a rare one among them would weigh more than what was asked.
        """
        near: dict[int, float] = {}
        for near_word in near_words:
            for position, presence in self._presence.get(near_word, {}).items():
                near[position] = max(near.get(position, 0.0), presence)
        own = self._presence.get(word, {})
        gains = {position: _NEARNESS * presence * self._rarity(near) for position, presence in near.items()}
        for position, presence in own.items():
            gains[position] = max(gains.get(position, 0.0), presence * self._rarity(own))
        return gains

    def _rarity(self, found: Mapping[int, float]) -> float:
        """Return how well a word tells tools apart: its inverse document frequency, always above zero."""
        return math.log(1 + (len(self._specs) - len(found) + 0.5) / (len(found) + 0.5))


def _presence(specs: tuple[ToolSpec, ...]) -> dict[str, dict[int, float]]:
    """Return for each word how present it is in each tool that has it, by position, from 0 to 1."""
    fields = (
        (_NAME, [text_words(spec.name) for spec in specs]),
        (_TITLE, [text_words(spec.title or "") for spec in specs]),
        (_DESCRIPTION, [text_words(spec.description) for spec in specs]),
    )
    counts: defaultdict[str, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
    for weight, texts in fields:
        words_in_all = sum(map(len, texts))
        for position, words in enumerate(texts):
            length = len(words) * len(texts) / max(1, words_in_all)
            for word in words:
                counts[word][position] += weight / (1 - _LENGTH_PENALTY + _LENGTH_PENALTY * length)
    return {
        word: {position: count / (count + _SATURATION) for position, count in found.items()}
        for word, found in counts.items()
    }
