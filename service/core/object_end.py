"""Where the JSON object that a text begins with may end, found while the text still comes.

Above: `call_assembly`. Below: nothing.
"""

from __future__ import annotations

import re

# An escape counts as one, so that an escaped quotation mark ends no string.
_MARK = re.compile(r'\\.|[\\"{}\[\]]', re.DOTALL)


class ObjectEnd:
    """Count braces outside of strings; each character is looked at once, however many pieces there are.

    An object ends with the brace that closes the first one: where the text up to there is none, nothing that
    follows makes it one.
    """

    def __init__(self) -> None:
        self._levels = 0
        self._in_string = False
        self._escape_begun = False
        self.is_reached = False

    def feed(self, piece: str) -> None:
        """Look at the next piece, which is not empty."""
        marks = _MARK.finditer(piece, 1 if self._escape_begun else 0)
        self._escape_begun = False
        for mark in marks:
            character = mark[0]
            if character == "\\":
                self._escape_begun = True
            elif character == '"':
                self._in_string = not self._in_string
            elif not self._in_string and len(character) == 1:
                self._levels += 1 if character in "{[" else -1
                self.is_reached = self.is_reached or self._levels <= 0
