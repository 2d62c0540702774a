"""The words of tools and of questions, folded so that the forms of one word are equal (X4).

Above: `tool_search`. Below: `everyday_words`. Endings, stop words and near words are English; words of other languages
are only folded in case and form, and scripts without spaces are taken in pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import pairwise

from service.core.everyday_words import GROUPS, IRREGULAR, QUESTION_WORDS, READING_WORDS, STOP_WORDS

# What follows isn't looked at: a question has its words in the beginning.
_MAX_CHARACTERS = 4096

# No word of a text is equal to it, so that it matches through its near words alone.
_QUESTION = "?"

_CAMEL_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Thai and Lao, Myanmar, Khmer, kana, Han, Hangul (whose particles stand without a space), Han again.
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_PIECE = re.compile(rf"(?P<run>[{_SPACELESS}]+)|\d+|[^\d{_SPACELESS}]+")

# The patterns of endings take time that grows faster than the word.
_LONGEST_ENGLISH_WORD = 32
# The second kind needs a root of two syllables: "timer" isn't "time", and "comment" isn't "come".
_ENDING = re.compile(
    r"(?P<root>.*[aeiouy].*)(?<=...)(?<!e)(?:ing|ed)|(?P<long_root>.*?[aeiouy]+[^aeiouy]+[aeiouy]+[^aeiouy]+)(?:er|ion|ment)"
)
_DOUBLE = re.compile(r"([bdgmnprt])\1$")
_LAST_Y = re.compile(r"(?<=[^aeiou])y$")


def text_words(text: str) -> list[str]:
    """Return the words of a text or a name in order, folded."""
    return [_stem(piece) for piece in _pieces(text)]


def query_terms(query: str) -> dict[str, tuple[str, ...]]:
    """Return the words that a query looks for, folded, without stop words, each with the words near to it.

    A query that begins as a question asks to know something, which the tools that read do: that is a term of its own.
    """
    pieces = list(_pieces(query))
    terms = {stem: _NEAR.get(stem, ()) for stem in map(_stem, (p for p in pieces if p not in STOP_WORDS))}
    if terms and pieces[0] in QUESTION_WORDS:
        terms[_QUESTION] = _READING
    return terms


def _pieces(text: str) -> Iterator[str]:
    # Cut again, for one character may become eighteen.
    plain = unicodedata.normalize("NFKC", text[:_MAX_CHARACTERS])[:_MAX_CHARACTERS]
    # Marks belong to the letter before them: Hindi and others write vowels so.
    spaced = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in plain)
    for part in spaced.split():
        humps = _CAMEL_HUMP.split(part)
        # "GitHub" is found by "github" too.
        for word in (part, *humps) if len(humps) > 1 else humps:
            for piece in _PIECE.finditer(word.casefold()):
                yield from _pairs(piece[0]) if piece["run"] else (piece[0],)


def _pairs(run: str) -> Iterator[str]:
    """Return each pair of neighbours: where a word ends in such a script only a dictionary knows."""
    return map("".join, pairwise(run)) if len(run) > 1 else iter(run)


def _stem(word: str) -> str:
    """Fold the endings of an English word; a stem needn't be a word, for both sides are folded."""
    if not word.isascii() or not 3 <= len(word) <= _LONGEST_ENGLISH_WORD:
        return word
    word = _singular(IRREGULAR.get(word, word))
    if ending := _ENDING.fullmatch(word):
        word = _DOUBLE.sub(r"\1", ending["root"] or ending["long_root"])
    if len(word) > 3:
        word = word.removesuffix("e")
    return _LAST_Y.sub("i", word)


def _singular(word: str) -> str:
    if word.endswith(("sses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _near_words() -> Mapping[str, tuple[str, ...]]:
    near: dict[str, dict[str, None]] = {}
    for group in GROUPS:
        stems = dict.fromkeys(map(_stem, group))
        for stem in stems:
            near.setdefault(stem, {}).update(dict.fromkeys(other for other in stems if other != stem))
    return {stem: tuple(others) for stem, others in near.items()}


_NEAR = _near_words()
_READING = tuple(map(_stem, READING_WORDS))
