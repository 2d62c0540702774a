"""Text as it stands: only its encoding changes."""

from __future__ import annotations

from typing import BinaryIO

from service.adapters.documents.charsets import decoded, encoding_of
from service.adapters.documents.text_sink import TextSink


def copy_text(file: BinaryIO, sink: TextSink, *, media_type: str | None) -> None:
    """Write the text of a plain file into the sink, a piece at a time.

    Raises:
        Refused: the file is no text, or larger than the sink takes.
    """
    for piece in decoded(file, encoding_of(file, media_type=media_type, html=False)):
        sink.write(piece)
