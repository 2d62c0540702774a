"""Where a child's text goes: into frames, up to a bound."""

from __future__ import annotations

from typing import BinaryIO

from service.adapters.documents.frames import FrameKind, write_frame
from service.adapters.documents.refusal import Refused

# Characters, of up to four bytes each, so that no frame is above its bound.
_PIECE_CHARACTERS = 1 << 17


class TextSink:
    """Takes a document's text piece by piece and writes it as frames of UTF-8."""

    def __init__(self, out: BinaryIO, *, max_bytes: int) -> None:
        self._out = out
        self._max_bytes = max_bytes
        self._room_bytes = max_bytes
        self._waiting: list[str] = []
        self._waiting_characters = 0
        self.has_words = False

    def write(self, text: str) -> None:
        """Take a piece of the text.

        Raises:
            Refused: the text is larger than the bound.
        """
        self.has_words = self.has_words or not (text.isspace() or not text)
        self._waiting.append(text)
        self._waiting_characters += len(text)
        if self._waiting_characters >= _PIECE_CHARACTERS:
            self.flush()

    def flush(self) -> None:
        """Write out what waits.

        Raises:
            Refused: the text is larger than the bound.
        """
        text = "".join(self._waiting)
        self._waiting.clear()
        self._waiting_characters = 0
        for start in range(0, len(text), _PIECE_CHARACTERS):
            self._write_out(text[start : start + _PIECE_CHARACTERS])

    def _write_out(self, text: str) -> None:
        # A library may hand out a NUL or half of a surrogate pair; nothing behind this point has to know.
        payload = text.replace("\0", "").encode("utf-8", "replace")
        self._room_bytes -= len(payload)
        if self._room_bytes < 0:
            limit = f"{self._max_bytes / (1 << 20):.4g} MiB"
            raise Refused(f"has more than {limit} of text; send it in smaller parts")
        write_frame(self._out, FrameKind.TEXT, payload)
