"""The stamps that the fake llama-server writes as its tokens, found in the bytes of whatever framing carries them.

Above: the stream of one answer. Below: nothing.
"""

from __future__ import annotations

import re

# A proxy may begin a new chunk of its body anywhere, also within a stamp.
_NEW_CHUNK = rb"\r\n[0-9a-fA-F]+\r\n"
_STAMP = re.compile(rb"T(?:(\d{15})\.(\d+)E|([\d.]*%s[\d.]*E))" % _NEW_CHUNK)
_FRAMING = re.compile(_NEW_CHUNK)
# A stamp with a number of ten digits has 27 bytes, the beginning of a chunk in between 12.
_KEPT_BYTES = 64
_END_OF_CHUNKS = b"\r\n0\r\n\r\n"


class StampFinder:
    """Finds each stamp once, also where it is cut by the end of a piece, or comes again in a later event."""

    __slots__ = ("_tail", "last")

    def __init__(self) -> None:
        self.last = -1
        """The greatest number that was found; -1 before the first."""
        self._tail = b""

    def feed(self, piece: bytes, sent_us: list[int] | None = None) -> int:
        """Count the new stamps in a piece; their sending times, in µs, are added to `sent_us` where that is given."""
        read = self._tail + piece
        last, count = self.last, 0
        for time, number_text, cut in _STAMP.findall(read):
            if cut:
                time, _, number_text = _FRAMING.sub(b"", cut[:-1]).partition(b".")
            number = int(number_text)
            if number > last:
                last = number
                count += 1
                if sent_us is not None:
                    sent_us.append(int(time))
        self.last = last
        self._tail = read[-_KEPT_BYTES:]
        return count

    @property
    def at_end(self) -> bool:
        """Whether what came last is the end of a chunked body."""
        return self._tail.endswith(_END_OF_CHUNKS)
