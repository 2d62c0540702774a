"""Cutting a text to the end with a counter of tokens in place of the model server's, and texts to be cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from random import Random

from service.core.reading.chunking import Cutting

Counter = Callable[[str], int]

_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")
_LETTERS = "eeettaoinshrdlu"


def by_bytes(text: str) -> int:
    return -(-len(text.encode()) // 4)


def by_words(text: str) -> int:
    return len(_WORD_OR_MARK.findall(text))


def by_runs(text: str) -> int:
    """Eight equal characters in a row are one token: two parts together may have fewer than the two alone."""
    return sum(-(-len(list(run)) // 8) for _, run in groupby(text))


def by_edges(text: str) -> int:
    """A text that begins or ends within a word costs more: two parts together have fewer than the two alone."""
    return by_bytes(text) + 2 * text[0].isalnum() + 3 * text[-1].isalnum()


COUNTERS: dict[str, Counter] = {
    "bytes": by_bytes,
    "words": by_words,
    "code points": len,
    "runs": by_runs,
    "edges": by_edges,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What became of a text: its chunks, their tokens, and each piece that was counted on the way."""

    chunks: tuple[str, ...]
    ends: tuple[int, ...]
    tokens: tuple[int, ...]
    counted: tuple[str, ...]


def cut(text: str, budget: int, count: Counter, media_type: str = "text/plain") -> Cut:
    cutting = Cutting(text, budget=budget, media_type=media_type)
    counted: list[str] = []
    while (piece := cutting.question) is not None:
        counted.append(piece)
        cutting.answer(count(piece))
    data, ends = text.encode(), cutting.ends
    chunks = tuple(data[start:end].decode() for start, end in pairwise((0, *ends)))
    return Cut(chunks=chunks, ends=ends, tokens=cutting.tokens, counted=tuple(counted))


def sentences(seed: int) -> Iterator[str]:
    random = Random(seed)
    words = ["".join(random.choices(_LETTERS, k=random.randint(1, 10))) for _ in range(500)]
    while True:
        yield " ".join(random.choices(words, k=random.randint(4, 20))).capitalize() + "."


def prose(characters: int, *, seed: int = 1, between: str = "\n\n") -> str:
    """Paragraphs of two to nine sentences of made-up words; at least so many characters in all."""
    random, source = Random(seed), sentences(seed)
    paragraphs: list[str] = []
    length = 0
    while length < characters:
        paragraphs.append(" ".join(next(source) for _ in range(random.randint(2, 9))))
        length += len(paragraphs[-1]) + len(between)
    return between.join(paragraphs)
