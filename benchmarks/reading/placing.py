"""Puts sentences into a text at given depths and says at which bytes each of them lies."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

_SENTENCES_OF_A_PARAGRAPH = (4, 9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A place in a document: its number from 0, and first byte and byte after the last of its UTF-8 text."""

    document: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A sentence to put in, and the share of the text that lies before it, from 0 to 1."""

    sentence: str
    depth: float


def paragraph_starts(chance: random.Random, sentences: int) -> frozenset[int]:
    """Choose which sentences, by their number, begin a paragraph."""
    starts: list[int] = []
    at = 0
    while at < sentences:
        starts.append(at)
        at += chance.randrange(*_SENTENCES_OF_A_PARAGRAPH)
    return frozenset(starts)


def place(
    sentences: Sequence[str], starts: frozenset[int], placed: Sequence[Placed], document: int = 0
) -> tuple[str, tuple[Span, ...]]:
    """Return the text, and the spans of the placed sentences in the order in which they were given.

    Sentences of the same depth stand beside one another in the given order.
    """
    lengths = list(accumulate(len(sentence.encode()) + 1 for sentence in sentences))
    before: dict[int, list[int]] = {}
    for number, each in enumerate(placed):
        before.setdefault(_index(lengths, each.depth), []).append(number)
    text = bytearray()
    spans: dict[int, Span] = {}
    for at in range(len(sentences) + 1):
        separator = b"\n\n" if at in starts else b" "
        for number in before.get(at, []):
            start = _append(text, separator, placed[number].sentence)
            spans[number] = Span(document=document, start=start, end=len(text))
            separator = b" "
        if at < len(sentences):
            _append(text, separator, sentences[at])
    return text.decode(), tuple(spans[number] for number in range(len(placed)))


def _index(lengths: list[int], depth: float) -> int:
    """Return the number of the sentence before which the depth lies; their count for the very end."""
    if depth <= 0 or not lengths:
        return 0
    return min(bisect_left(lengths, depth * lengths[-1]) + 1, len(lengths))


def _append(text: bytearray, separator: bytes, sentence: str) -> int:
    if text:
        text += separator
    start = len(text)
    text += sentence.encode()
    return start
