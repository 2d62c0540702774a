"""A long text that comes in many small pieces, in no more memory than its characters need.

Above: `completion`, `call_assembly`, `think_tags`. Below: nothing.
"""

from __future__ import annotations

# A piece of one character costs some eighty bytes as an object of its own; joined, at most four.
PIECES_TO_JOIN = 1024
"""So many are kept as they are."""


class TextPieces:
    """Collect the pieces and join them now and then: a list of all would cost twenty times the text.

    Who adds to `newest` without a call is to call `join` now and then.
    """

    __slots__ = ("_joined", "newest")

    def __init__(self) -> None:
        self._joined: list[str] = []
        self.newest: list[str] = []

    def add(self, piece: str) -> None:
        """Put a piece behind the others."""
        self.newest.append(piece)
        if len(self.newest) >= PIECES_TO_JOIN:
            self.join()

    def join(self) -> None:
        """Join what is not joined yet."""
        self._joined.append("".join(self.newest))
        self.newest.clear()

    def take(self) -> str:
        """Give the text and begin anew."""
        text = self.text()
        self._joined.clear()
        self.newest.clear()
        return text

    def text(self) -> str:
        """Give all pieces as one text."""
        return "".join((*self._joined, *self.newest))

    def __bool__(self) -> bool:
        return bool(self.newest or self._joined)
