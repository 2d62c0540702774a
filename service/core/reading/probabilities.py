"""How sure the model was of a value that it wrote: of a gate, and of the words of a draft answer (R2, R11).

The model's probabilities are those before the schema was applied to them, and the same value can be written with
more than one token. So all tokens that begin a value count for it, and what is neither value counts for nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.core.completion_events import TokenProbability

_SPACE = " \t\r\n"
_SPACE_BYTES = _SPACE.encode()
_VALUES = {True: b"true", False: b"false"}
_AFTER_A_VALUE = frozenset(b",}" + _SPACE_BYTES)
# A value is begun by a handful of tokens of a vocabulary: `false`, ` false`, `f`, `fal` …
_SPELLINGS = 8
# What stays untold may move a probability by this much at most, else it is not given.
_UNTOLD = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """A member's value, and where it stands in bytes: behind the colon, from its first byte, to its end."""

    value: object
    after_colon: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """A token and where its bytes stand."""

    token: TokenProbability
    start: int
    end: int


def member_probability(tokens: Sequence[TokenProbability], member: str) -> float | None:
    """Give the probability (0 to 1) that the boolean of a top-level member was the one that was written.

    `tokens` are those of one JSON object, which may be cut off behind the value. It is the share of the value in the
    probabilities of both values, where the first token of the value was chosen. Where the other value is not among
    the alternatives it is the least that it can be.

    None when there is no such boolean, when the member stands there twice, or when the alternatives don't tell the
    share to within a hundredth.
    """
    found = _member(tokens, member)
    if found is None or not isinstance(found.value, bool):
        return None
    first = next(placed for placed in _placed(tokens) if placed.end > found.start)
    before_value = first.token.text[: max(0, found.after_colon - first.start)]
    return _share(first.token, found.value, before_value)


def text_probability(tokens: Sequence[TokenProbability], member: str) -> float | None:
    """Give the joint probability (0 to 1) of the tokens of a top-level member's string, its end included.

    Of the token with the closing quote only what stands up to the quote counts: `"` and `"}` end a string alike. None
    when there is no such whole string, when the member stands there twice, or when the server did not tell all of its
    tokens.
    """
    found = _member(tokens, member)
    if found is None or not isinstance(found.value, str):
        return None
    total = 0.0
    for placed in _placed(tokens):
        if placed.end <= found.start + 1 or placed.start >= found.end:
            continue
        logprob = placed.token.logprob
        if logprob is None:
            return None
        if placed.end >= found.end:
            logprob = _logprob_of_beginning(placed.token, logprob, placed.token.text[: found.end - placed.start])
        total += logprob
    return math.exp(total)


def _placed(tokens: Sequence[TokenProbability]) -> Iterator[_Placed]:
    start = 0
    for token in tokens:
        end = start + len(token.text)
        yield _Placed(token=token, start=start, end=end)
        start = end


def _share(token: TokenProbability, written: bool, before_value: bytes) -> float | None:
    """Give the share of the value that was written in what the token and its alternatives say of both."""
    if token.logprob is None:
        return None
    listed = dict.fromkeys(text for text, _ in token.alternatives)
    told = list(token.alternatives)
    if token.text not in listed:
        told.append((token.text, token.logprob))
    shares = {True: 0.0, False: 0.0}
    for text, logprob in told:
        begun = _begun_value(text, before_value)
        if begun is not None:
            shares[begun] += math.exp(logprob)
    chosen, other = shares[written], shares[not written]
    if chosen == 0.0:
        return None
    if other == 0.0:
        other = _most_untold(token, told)
        if other / (chosen + other) > _UNTOLD:
            return None
    return chosen / (chosen + other)


def _most_untold(token: TokenProbability, told: list[tuple[bytes, float]]) -> float:
    """Give the most that a value can have of which no token is among the alternatives."""
    rest = max(0.0, 1.0 - sum(math.exp(logprob) for _, logprob in told))
    if not token.alternatives:
        return rest
    # The alternatives are the likeliest tokens: one that is missing is at most as likely as the last of them.
    return min(rest, _SPELLINGS * min(math.exp(logprob) for _, logprob in token.alternatives))


def _begun_value(text: bytes, before_value: bytes) -> bool | None:
    """Say which value a token begins; None when it is neither, or does not tell yet."""
    if not text.startswith(before_value):
        return None
    body = text[len(before_value) :].lstrip(_SPACE_BYTES)
    for value, word in _VALUES.items():
        if body and (word.startswith(body) or (body.startswith(word) and body[len(word)] in _AFTER_A_VALUE)):
            return value
    return None


def _logprob_of_beginning(token: TokenProbability, logprob: float, beginning: bytes) -> float:
    """Give the logprob that a token begins so, whatever follows in it."""
    others = sum(
        math.exp(other) for text, other in token.alternatives if text.startswith(beginning) and text != token.text
    )
    return min(0.0, math.log(math.exp(logprob) + others)) if others else logprob


def _member(tokens: Sequence[TokenProbability], name: str) -> _Member | None:
    """Find a top-level member of the object that the tokens are; None when it isn't there exactly once."""
    try:
        text = b"".join(token.text for token in tokens).decode()
    except UnicodeDecodeError:
        return None
    found = [place for key, place in _members(text) if key == name]
    if len(found) != 1:
        return None
    place = found[0]
    return _Member(
        value=place.value,
        after_colon=len(text[: place.after_colon].encode()),
        start=len(text[: place.start].encode()),
        end=len(text[: place.end].encode()),
    )


def _members(text: str) -> Iterator[tuple[str, _Member]]:
    """Give the members of the object, places in characters, as far as the text goes and is JSON."""
    place = _after_space(text, 0)
    separator = "{"
    while text[place : place + 1] == separator:
        separator = ","
        key, place = _value(text, _after_space(text, place + 1))
        place = _after_space(text, place)
        if not isinstance(key, str) or text[place : place + 1] != ":":
            return
        after_colon = place + 1
        start = _after_space(text, after_colon)
        value, end = _value(text, start)
        if end == start:
            return
        yield key, _Member(value=value, after_colon=after_colon, start=start, end=end)
        place = _after_space(text, end)


def _value(text: str, place: int) -> tuple[object, int]:
    """Read a JSON value; where there is none its end is its place."""
    try:
        return _DECODER.raw_decode(text, place)
    except (ValueError, RecursionError):
        return None, place


_DECODER = json.JSONDecoder()


def _after_space(text: str, place: int) -> int:
    while place < len(text) and text[place] in _SPACE:
        place += 1
    return place
