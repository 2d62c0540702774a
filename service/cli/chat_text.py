"""A text of the model as it comes in pieces: what of it is new, also after a break or when it was begun again."""

from __future__ import annotations

from dataclasses import dataclass

CHARACTERS_PER_TOKEN = 4
"""For a guess while the server has not counted."""


@dataclass(slots=True)
class GrowingText:
    """One part of one step; `known` is what has come of it so far."""

    known: str = ""

    @property
    def tokens(self) -> int:
        """How many tokens it may be."""
        return -(-len(self.known) // CHARACTERS_PER_TOKEN)

    def grow(self, text: str, offset: int) -> tuple[bool, str]:
        """Take a piece that stands at this place; say whether it begins anew, and give what is new."""
        have = self.known[offset : offset + len(text)]
        if text.startswith(have):
            new = text[len(have) :]
            self.known += new
            return False, new
        self.known = self.known[:offset] + text
        return True, self.known

    def become(self, whole: str) -> tuple[bool, str]:
        """Take the whole text so far; say whether it is another one, and give what is new."""
        if whole.startswith(self.known):
            new = whole[len(self.known) :]
            self.known = whole
            return False, new
        self.known = whole
        return True, whole
