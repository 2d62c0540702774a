"""Lines of a server's output, in bounded memory: one that is too long is thrown away as it comes.

Whose answer it was is read from its beginning or its end, where JSON-RPC's `id` mostly stands, so that one call fails
and not all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_LINE_BYTES = 8 * 1024 * 1024

_EDGE = 256
_ID = rb'"id"\s*:\s*(\d+|"[^"\\]{1,64}")'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
# Members of the message itself: in front of its result, or behind it.
_AT_BEGINNING = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb"\s*,\s*)?" + _ID)
_AT_END = re.compile(rb",\s*(?:" + _VERSION + rb"\s*,\s*)?" + _ID + rb"\s*(?:,\s*" + _VERSION + rb"\s*)?\}\s*$")


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line that was thrown away; `id` is that of the request that it answered, as JSON has it, None if unknown."""

    id: str | None


class BoundedLines:
    """Cuts bytes into lines."""

    def __init__(self, most_bytes: int = MAX_LINE_BYTES) -> None:
        self._most_bytes = most_bytes
        self._line = bytearray()
        self._begun: bytes | None = None

    def feed(self, chunk: bytes) -> Iterator[bytes | TooLong]:
        """Give the lines that end in this chunk, without their ends."""
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._line += part
            yield self._taken()
        self._line += rest
        if len(self._line) > self._most_bytes:
            self._begun = self._begun or bytes(self._line[:_EDGE])
        if self._begun is not None:
            del self._line[:-_EDGE]

    def _taken(self) -> bytes | TooLong:
        line, begun = bytes(self._line), self._begun
        self._line.clear()
        self._begun = None
        if begun is None and len(line) <= self._most_bytes:
            return line
        found = _AT_BEGINNING.match(begun or line[:_EDGE]) or _AT_END.search(line[-_EDGE:])
        return TooLong(None if found is None else found[1].decode("ascii", errors="replace"))
