"""The probabilities that come with a stream's chunks, put together to the tokens of the answer.

llama-server puts them beside the piece of text that they belong to. It leaves out those of tokens that it held back,
for instance the first parts of a character, or gives the whole character with the probability of its last part; the
text is then kept without a probability. Whatever is malformed counts as not told, and never fails a completion.
"""

from __future__ import annotations

import math
from typing import cast

from service.core.completion_events import TokenProbability
from service.core.json_types import JsonObject, JsonValue

MAX_TOKENS = 16_384
"""Of a longer answer none are kept: with their alternatives these are about 40 MiB."""

_MAX_ALTERNATIVES = 32
_MAX_TOKEN_BYTES = 256
_MAX_TOKENS_OF_A_PIECE = 256
# The server sums in single precision: what is sure may come out a little above one.
_ROUNDING = 1e-3


class TokenProbabilities:
    """The tokens of one answer, gathered piece by piece."""

    def __init__(self) -> None:
        self._tokens: list[TokenProbability] = []
        self._are_too_many = False

    def take(self, content: str, logprobs: JsonValue) -> None:
        """Take a piece of the answer with what the server told of its tokens, which may be anything."""
        if self._are_too_many:
            return
        self._tokens += _tokens_of(content.encode(), _told(logprobs))
        if len(self._tokens) > MAX_TOKENS:
            self._are_too_many = True
            self._tokens.clear()

    def of(self, content: str) -> tuple[TokenProbability, ...]:
        """Give the tokens of the answer: joined they are `content`, which is the end of what was taken.

        Empty when the server told none, or when there were more than MAX_TOKENS.
        """
        whole = content.encode()
        taken = b"".join(token.text for token in self._tokens)
        if not taken.endswith(whole) or all(token.logprob is None for token in self._tokens):
            return ()
        return tuple(_without_front(self._tokens, len(taken) - len(whole)))


def _without_front(tokens: list[TokenProbability], surplus: int) -> list[TokenProbability]:
    """Leave out the bytes in front, which were a thought in tags; the rest of a cut token has no probability."""
    for place, token in enumerate(tokens):
        if surplus == 0:
            return tokens[place:]
        if surplus < len(token.text):
            return [TokenProbability(text=token.text[surplus:], logprob=None), *tokens[place + 1 :]]
        surplus -= len(token.text)
    return []


def _tokens_of(piece: bytes, told: list[TokenProbability]) -> list[TokenProbability]:
    """Give tokens that, joined, are the piece: those told as far as they are its end, in front what is not told."""
    joined = b"".join(token.text for token in told)
    if not piece.endswith(joined):
        return [TokenProbability(text=piece, logprob=None)]
    if held_back := piece[: len(piece) - len(joined)]:
        return [TokenProbability(text=held_back, logprob=None), *told]
    return told


def _told(logprobs: JsonValue) -> list[TokenProbability]:
    """Read the tokens of one piece; none when one of them can't be read."""
    entries: JsonValue = cast(JsonObject, logprobs).get("content") if isinstance(logprobs, dict) else None
    if not isinstance(entries, list) or len(cast(list[JsonValue], entries)) > _MAX_TOKENS_OF_A_PIECE:
        return []
    tokens: list[TokenProbability] = []
    for entry in cast(list[JsonValue], entries):
        read = _entry(entry)
        if read is None:
            return []
        text, logprob = read
        # A token without text, such as the mark of the end, is no part of the answer.
        if text:
            alternatives = _alternatives(cast(JsonObject, entry).get("top_logprobs"))
            told = None if _is_of_several(text, logprob, alternatives) else logprob
            tokens.append(TokenProbability(text=text, logprob=told, alternatives=alternatives))
    return tokens


def _is_of_several(text: bytes, logprob: float, alternatives: tuple[tuple[bytes, float], ...]) -> bool:
    """Say whether it is a character out of several tokens: likely enough for the alternatives, and none of them."""
    return (
        not text.isascii()
        and any(other < logprob for _, other in alternatives)
        and all(other != text for other, _ in alternatives)
    )


def _alternatives(told: JsonValue) -> tuple[tuple[bytes, float], ...]:
    """Read what else could have stood there: all of it or nothing, since a part would make the rest look likelier."""
    if not isinstance(told, list) or len(cast(list[JsonValue], told)) > _MAX_ALTERNATIVES:
        return ()
    read = [_entry(entry) for entry in cast(list[JsonValue], told)]
    alternatives = tuple(entry for entry in read if entry is not None)
    return alternatives if len(alternatives) == len(read) else ()


def _entry(entry: JsonValue) -> tuple[bytes, float] | None:
    if not isinstance(entry, dict):
        return None
    members = cast(JsonObject, entry)
    text = _bytes(members)
    logprob = _logprob(members.get("logprob"))
    return None if text is None or logprob is None else (text, logprob)


def _bytes(entry: JsonObject) -> bytes | None:
    """Give the bytes of a token; its text is only their readable form, and is used where there are no bytes."""
    told: JsonValue = entry.get("bytes")
    token: JsonValue = entry.get("token")
    if isinstance(told, list):
        numbers = cast(list[JsonValue], told)
        if len(numbers) > _MAX_TOKEN_BYTES or not all(type(number) is int and 0 <= number < 256 for number in numbers):
            return None
        return bytes(numbers)
    if told is None and isinstance(token, str) and len(text := token.encode()) <= _MAX_TOKEN_BYTES:
        return text
    return None


def _logprob(value: JsonValue) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        logprob = float(value)
    except OverflowError:
        return None
    return min(logprob, 0.0) if math.isfinite(logprob) and logprob <= _ROUNDING else None
