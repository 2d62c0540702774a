"""From a file to its text, by what the file is."""

from __future__ import annotations

from typing import BinaryIO

from service.adapters.documents.kinds import HEAD_BYTES, Kind, kind_of
from service.adapters.documents.plain_text import copy_text
from service.adapters.documents.refusal import Refused
from service.adapters.documents.text_sink import TextSink


def extract(file: BinaryIO, sink: TextSink, *, suffix: str, media_type: str | None) -> Kind:
    """Write the text of a file into the sink and tell what the file is.

    Raises:
        Refused: there is no usable text in it.
    """
    file.seek(0)
    head = file.read(HEAD_BYTES)
    if not head:
        raise Refused("is empty; send a file with text in it")
    kind = kind_of(head, suffix=suffix, media_type=media_type)
    _write_text(kind, file, sink, media_type)
    sink.flush()
    if not sink.has_words:
        raise Refused("has no text in it; send a file with text in it")
    return kind


def _write_text(kind: Kind, file: BinaryIO, sink: TextSink, media_type: str | None) -> None:
    # Each library is loaded by those alone who need it: a child lives for one document.
    match kind:
        case Kind.PDF:
            from service.adapters.documents.pdf_text import write_pdf_text

            write_pdf_text(file, sink)
        case Kind.HTML:
            from service.adapters.documents.html_text import write_html_text

            write_html_text(file, sink, media_type=media_type)
        case Kind.PLAIN | Kind.MARKDOWN:
            copy_text(file, sink, media_type=media_type)
