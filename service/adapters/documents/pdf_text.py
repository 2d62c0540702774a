"""The text of a PDF, page by page, through PDFium."""

from __future__ import annotations

import importlib
from contextlib import closing
from typing import BinaryIO, Protocol, cast

from service.adapters.documents.confinement import no_more_files
from service.adapters.documents.refusal import Refused
from service.adapters.documents.text_sink import TextSink

# FPDF_ERR_PASSWORD and FPDF_ERR_SECURITY of PDFium's fpdfview.h.
_LOCKED = frozenset({4, 5})
# PDFium ends lines as Windows does, and puts U+FFFE where a word was broken by a hyphen at the end of a line.
_BROKEN_WORD = "\ufffe"
_DAMAGED = "is a damaged PDF; open and save it anew, or send its text"
_SCANNED = "is a PDF of pictures without text; run text recognition (OCR) on it first, or send its text"


class _TextPage(Protocol):
    def get_text_range(self) -> str: ...
    def close(self) -> None: ...


class _Page(Protocol):
    def get_textpage(self) -> _TextPage: ...
    def close(self) -> None: ...


class _Document(Protocol):
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> _Page: ...


class _OpenDocument(Protocol):
    def __call__(self, source: BinaryIO) -> _Document: ...


def write_pdf_text(file: BinaryIO, sink: TextSink) -> None:
    """Write the text of a PDF into the sink, with a blank line between pages.

    Raises:
        Refused: the PDF is encrypted, damaged or without text, or its text larger than the sink takes.
    """
    # The library has no types; the protocols above are the part that is used.
    pdfium = importlib.import_module("pypdfium2")
    failure = cast(type[RuntimeError], pdfium.PdfiumError)
    # Python opens a file for this codec, which PDFium's text comes in, when it is first used.
    "".encode("utf-16-le")
    no_more_files()
    try:
        document = cast(_OpenDocument, pdfium.PdfDocument)(file)
    except failure as error:
        raise Refused(_why_closed(error)) from error
    try:
        _write_pages(document, sink)
    except failure as error:
        raise Refused(_DAMAGED) from error
    if not sink.has_words:
        raise Refused(_SCANNED if len(document) else _DAMAGED)


def _why_closed(error: RuntimeError) -> str:
    if getattr(error, "err_code", None) in _LOCKED:
        return "is an encrypted PDF; send it without its password"
    return _DAMAGED


def _write_pages(document: _Document, sink: TextSink) -> None:
    begun = False
    for number in range(len(document)):
        with closing(document[number]) as page, closing(page.get_textpage()) as text_page:
            text = _cleaned(text_page.get_text_range())
        if text:
            sink.write(f"\n\n{text}" if begun else text)
            begun = True


def _cleaned(text: str) -> str:
    return text.replace("\r\n", "\n").replace(_BROKEN_WORD, "").strip("\n")
