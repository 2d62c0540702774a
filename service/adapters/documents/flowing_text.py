"""Words that flow in lines and paragraphs, as a browser would set them."""

from __future__ import annotations

import re
from collections.abc import Callable

# White space of HTML; a no-break space is none.
_SPACES = re.compile(r"[ \t\n\f\r]+")
_LINE, _PARAGRAPH = 1, 2


class FlowingText:
    """Takes words and breaks, and writes them so that no break stands at the beginning, doubled or at the end."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._begun = False
        self._break = 0
        self._gap = ""
        self._marker = ""

    def words(self, text: str) -> None:
        """Add words; white space between them becomes one space."""
        words = _SPACES.sub(" ", text)
        if words.startswith(" "):
            self._space()
        if bare := words.strip(" "):
            self._put(bare)
            if words.endswith(" "):
                self._space()

    def verbatim(self, text: str) -> None:
        """Add text whose white space counts."""
        if text:
            self._put(text)

    def line(self) -> None:
        """End the line."""
        self._end(_LINE)

    def one_more_line(self) -> None:
        """End the line, also an empty one."""
        self._end(min(self._break + 1, _PARAGRAPH))

    def paragraph(self) -> None:
        """End the paragraph."""
        self._end(_PARAGRAPH)

    def cell(self) -> None:
        """Begin another cell of a table's row."""
        self._gap = self._gap.replace(" ", "") + "\t"

    def item(self, marker: str) -> None:
        """Begin an item of a list; the marker stands before its first words."""
        self.line()
        self._marker = marker

    def _space(self) -> None:
        self._gap = self._gap or " "

    def _end(self, size: int) -> None:
        self._break = max(self._break, size)
        self._gap = ""

    def _put(self, text: str) -> None:
        breaks = "\n" * self._break if self._begun else ""
        # A space has no place at the beginning of a line, an empty cell has.
        gap = self._gap.strip(" ") if breaks or not self._begun else self._gap
        self._write(f"{breaks}{gap}{self._marker}{text}")
        self._begun = True
        self._break, self._gap, self._marker = 0, "", ""
