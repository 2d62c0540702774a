"""A JSON object of which only the beginning was read: its whole members and what came of the next (X2)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import NoReturn

from service.core.json_types import JsonObject, JsonValue

_SPACE = re.compile(r"[ \t\n\r]*")
# A backslash that begins an escape (so an odd one), and what came of the escape.
_BROKEN_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z")
# What is left of a number whose fraction or exponent is cut before its first digit.
_CUT_NUMBER = re.compile(r"(?:\.|[eE][+-]?)\Z")
# The longest word that a cut can break where the decoder complains about its beginning: \u and three digits.
_LONGEST_BROKEN_WORD = 6


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


@dataclass(frozen=True, slots=True, kw_only=True)
class CutObject:
    """What came of an object before the cut.

    `cut_key` is the member whose value was cut and `cut_text` the beginning of that value: of a string its
    characters, of anything else its JSON. `ended` says that the object was whole and only space is missing.
    """

    members: JsonObject
    cut_key: str | None = None
    cut_text: str = ""
    ended: bool = False


class _TextEnds(Exception):
    """The text ends here, and up to here it is JSON."""


def read_cut_object(text: str) -> CutObject:
    """Read the beginning of a JSON object.

    Raises:
        ValueError: it is no JSON object, whatever would have followed.
        RecursionError: it is nested too deeply.
    """
    scan = _Scan(text)
    members: JsonObject = {}
    key: str | None = None
    try:
        scan.mark("{")
        while True:
            name = scan.value()
            if not isinstance(name, str):
                raise ValueError("a key must be a string")
            scan.mark(":")
            key = name
            members[name] = scan.value()
            key = None
            if scan.mark(",}") == "}":
                return _ended(members, scan)
    except _TextEnds:
        if key is None:
            return CutObject(members=members)
        # Of a key that stands there twice the last one counts, as everywhere.
        members.pop(key, None)
        return CutObject(members=members, cut_key=key, cut_text=_beginning(text[scan.at :]))


class _Scan:
    """A place in a text that moves on over marks and values."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def mark(self, expected: str) -> str:
        """Pass one of the expected characters."""
        self.skip_space()
        found = self.text[self.at]
        if found not in expected:
            raise ValueError(f"expected one of {expected}")
        self.at += 1
        return found

    def value(self) -> JsonValue:
        """Pass a value; where the text ends in it, stay before it."""
        self.skip_space()
        try:
            value, end = _DECODER.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            broken = error.msg.startswith("Unterminated string") or error.pos > len(self.text) - _LONGEST_BROKEN_WORD
            if broken:
                raise _TextEnds from error
            raise
        if isinstance(value, int | float) and (end == len(self.text) or _CUT_NUMBER.match(self.text, end)):
            # More digits may have followed, or the exponent that begins here.
            raise _TextEnds
        self.at = end
        return value

    def skip_space(self) -> None:
        """Pass white space."""
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        if self.at == len(self.text):
            raise _TextEnds


def _ended(members: JsonObject, scan: _Scan) -> CutObject:
    if scan.text[scan.at :].strip():
        raise ValueError("something follows the object")
    return CutObject(members=members, ended=True)


def _beginning(value: str) -> str:
    if not value.startswith('"'):
        return value
    text: str = json.loads(_BROKEN_ESCAPE.sub(r"\1", value) + '"')
    return text
