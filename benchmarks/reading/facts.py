"""Made-up facts that stand in no text and that no model can have learnt."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

_ONSETS = ("b", "br", "d", "dr", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "tr", "v", "z")
_VOWELS = ("a", "e", "i", "o", "u")
_CODAS = ("l", "m", "n", "r", "s", "th", "x")


class ValueKind(StrEnum):
    """What a fact says of its place."""

    WORD = "word"
    NAME = "name"
    NUMBER = "number"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactForm:
    """One thing that can be said, said anew and asked of a place."""

    says: str
    says_anew: str
    asks: str
    value: ValueKind

    def sentence(self, place: str, value: str) -> str:
        """Return the sentence that states the fact."""
        return self.says.format(place=place, value=value)

    def correction(self, place: str, value: str) -> str:
        """Return the sentence that puts another value in place of an earlier one, which it doesn't name."""
        return self.says_anew.format(place=place, value=value)

    def question(self, place: str) -> str:
        """Return the question; `place` is a name or a description such as "the city where Bram dwells"."""
        return self.asks.format(place=place)


FORMS = (
    FactForm(
        says="The watchword of {place} is {value}.",
        says_anew="Since that day the watchword of {place} is changed, and now it is {value}.",
        asks="What is the watchword of {place}?",
        value=ValueKind.WORD,
    ),
    FactForm(
        says="The storehouse of {place} holds {value} jars of oil.",
        says_anew="The jars were counted again, and the storehouse of {place} now holds {value} jars of oil.",
        asks="How many jars of oil does the storehouse of {place} hold?",
        value=ValueKind.NUMBER,
    ),
    FactForm(
        says="The keeper of the gate of {place} is {value}.",
        says_anew="Another was chosen after him, and now the keeper of the gate of {place} is {value}.",
        asks="Who is the keeper of the gate of {place}?",
        value=ValueKind.NAME,
    ),
    FactForm(
        says="The well of {place} is {value} cubits deep.",
        says_anew="The well was dug out again, and now the well of {place} is {value} cubits deep.",
        asks="How many cubits deep is the well of {place}?",
        value=ValueKind.NUMBER,
    ),
)


class FactMaker:
    """Makes names and values by chance, none of which stands in the text or was made before."""

    def __init__(self, chance: random.Random, text: str) -> None:
        self._chance = chance
        self._text = text.casefold()
        self._made: set[str] = set()

    def form(self) -> FactForm:
        """Choose what is said."""
        return self._chance.choice(FORMS)

    def name(self) -> str:
        """Make the name of a person or a place."""
        return self._new(lambda: self._syllables().capitalize())

    def value(self, kind: ValueKind) -> str:
        """Make a value of this kind."""
        if kind is ValueKind.NUMBER:
            return self._new(lambda: str(self._chance.randrange(201, 9999)))
        return self.name() if kind is ValueKind.NAME else self._new(self._syllables)

    def _syllables(self) -> str:
        first, second = (self._chance.choice(_ONSETS) + self._chance.choice(_VOWELS) for _ in range(2))
        return first + second + self._chance.choice(_CODAS)

    def _new(self, make: Callable[[], str]) -> str:
        while True:
            made = make()
            plain = made.casefold()
            # None holds another either: judging looks for a value within an answer.
            if plain not in self._text and not any(plain in other or other in plain for other in self._made):
                self._made.add(plain)
                return made
