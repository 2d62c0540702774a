"""The body of an HTTP answer as it arrives: unpacked, but never more of it than a cap (X2)."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

_GZIP = frozenset({"gzip", "x-gzip"})
_PLAIN = frozenset({"", "identity"})
# zlib's way to ask for gzip's header and checksum.
_GZIP_WINDOW = 16 + zlib.MAX_WBITS


class UnreadableBody(ValueError):
    """A body can't be unpacked; the text is the predicate of a sentence about its sender."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBody:
    """A body, at most as long as the cap; `cut` when there was more."""

    content: bytes
    cut: bool


class CappedBody:
    """Collect a body of at most `cap_bytes`, counted both as it comes and unpacked.

    Feed it chunks until there are no more or `is_cut` says that the rest isn't wanted; then `finish`.
    """

    def __init__(self, content_encoding: str, cap_bytes: int) -> None:
        """Take the value of the header `Content-Encoding`, "" when there is none.

        Raises:
            UnreadableBody: bodies of this encoding can't be read.
        """
        encoding = content_encoding.strip().lower()
        if encoding not in _GZIP | _PLAIN:
            raise UnreadableBody("packed its answer in a way that was not offered")
        self._unzip = zlib.decompressobj(_GZIP_WINDOW) if encoding in _GZIP else None
        self._cap = cap_bytes
        self._received = 0
        self._body = bytearray()

    @property
    def is_cut(self) -> bool:
        """Whether there was more than the cap."""
        return max(self._received, len(self._body)) > self._cap

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the body.

        Raises:
            UnreadableBody: they can't be unpacked.
        """
        self._received += len(chunk)
        if self._unzip is None:
            self._body += chunk[: self._room]
            return
        try:
            while chunk and self._room:
                chunk = self._unpack(chunk)
        except zlib.error as error:
            raise UnreadableBody("packed its answer wrongly") from error

    def finish(self) -> ReadBody:
        """Give what was collected.

        Raises:
            UnreadableBody: the packed body ended too early.
        """
        if self._unzip is not None and not self._unzip.eof and not self.is_cut:
            raise UnreadableBody("packed its answer wrongly: the end is missing")
        return ReadBody(content=bytes(memoryview(self._body)[: self._cap]), cut=self.is_cut)

    @property
    def _room(self) -> int:
        # One byte over the cap is kept: it tells a body that was cut from one that just fits.
        return self._cap + 1 - len(self._body)

    def _unpack(self, packed: bytes) -> bytes:
        assert self._unzip is not None
        if self._unzip.eof:
            self._unzip = zlib.decompressobj(_GZIP_WINDOW)
        # What a few bytes unpack to has no bound of its own, so the room is one.
        self._body += self._unzip.decompress(packed, self._room)
        return self._unzip.unconsumed_tail or self._unzip.unused_data
