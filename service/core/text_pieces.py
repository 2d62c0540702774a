"""A long text that comes in many small pieces, in no more memory than its characters need.

Above: `completion`, `call_assembly`, `think_tags`. Below: nothing.
"""

from __future__ import annotations

# A piece of one character costs some eighty bytes as an object of its own; joined, at most four.
_PIECES_TO_JOIN = 1024


class TextPieces:
    """Collect the pieces and join them now and then: a list of all would cost twenty times the text."""

    __slots__ = ("_joined", "_newest")

    def __init__(self) -> None:
        self._joined: list[str] = []
        self._newest: list[str] = []

    def add(self, piece: str) -> None:
        """Put a piece behind the others."""
        self._newest.append(piece)
        if len(self._newest) == _PIECES_TO_JOIN:
            self._joined.append("".join(self._newest))
            self._newest.clear()

    def take(self) -> str:
        """Give the text and begin anew."""
        text = self.text()
        self._joined.clear()
        self._newest.clear()
        return text

    def text(self) -> str:
        """Give all pieces as one text."""
        return "".join((*self._joined, *self._newest))

    def __bool__(self) -> bool:
        return bool(self._newest or self._joined)
