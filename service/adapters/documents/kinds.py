"""What a file is, by its first bytes, its name and its declared media type together."""

from __future__ import annotations

from enum import StrEnum

from service.adapters.documents.refusal import Refused

# A TAR archive says what it is at byte 257, an HTML page behind comments.
HEAD_BYTES = 4096
_PDF_MAGIC = b"%PDF-"
# Readers of PDF accept the header anywhere in the first KiB.
_PDF_HEADER_WITHIN = 1024


class Kind(StrEnum):
    """The kinds of documents that are read, by their media types."""

    PLAIN = "text/plain"
    MARKDOWN = "text/markdown"
    HTML = "text/html"
    PDF = "application/pdf"


_SEND_TEXT = "send its text, or a PDF of it"
_UNPACK = "unpack it and send the documents in it"
_NO_TEXT = "send text, Markdown, HTML or PDF"
_TRANSCRIPT = "send a transcript of it"
_IMAGE = "send the text that it shows"

# (where, the bytes there, what it is, what to send instead)
_FOREIGN: tuple[tuple[int, bytes, str, str], ...] = (
    (0, b"PK\x03\x04", "a ZIP archive", _UNPACK),
    (0, b"PK\x05\x06", "an empty ZIP archive", _NO_TEXT),
    (0, b"\x1f\x8b", "compressed with gzip", _UNPACK),
    (0, b"BZh", "compressed with bzip2", _UNPACK),
    (0, b"\xfd7zXZ\0", "compressed with xz", _UNPACK),
    (0, b"\x28\xb5\x2f\xfd", "compressed with zstd", _UNPACK),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (0, b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (257, b"ustar", "a TAR archive", _UNPACK),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document", _SEND_TEXT),
    (0, b"{\\rtf", "a Rich Text document", _SEND_TEXT),
    (0, b"%!PS", "a PostScript document", _SEND_TEXT),
    (0, b"\x89PNG\r\n\x1a\n", "a PNG image", _IMAGE),
    (0, b"\xff\xd8\xff", "a JPEG image", _IMAGE),
    (0, b"GIF87a", "a GIF image", _IMAGE),
    (0, b"GIF89a", "a GIF image", _IMAGE),
    (8, b"WEBP", "a WebP image", _IMAGE),
    (0, b"II*\0", "a TIFF image", _IMAGE),
    (0, b"MM\0*", "a TIFF image", _IMAGE),
    (4, b"ftypavif", "an AVIF image", _IMAGE),
    (4, b"ftypheic", "an HEIC image", _IMAGE),
    (4, b"ftyp", "a video or audio file", _TRANSCRIPT),
    (0, b"\x1aE\xdf\xa3", "a video file", _TRANSCRIPT),
    (8, b"WAVE", "an audio file", _TRANSCRIPT),
    (0, b"ID3", "an audio file", _TRANSCRIPT),
    (0, b"OggS", "an audio file", _TRANSCRIPT),
    (0, b"fLaC", "an audio file", _TRANSCRIPT),
    (0, b"\x7fELF", "a program", _NO_TEXT),
    (0, b"MZ\x90\0", "a Windows program", _NO_TEXT),
    (0, b"\xcf\xfa\xed\xfe", "a macOS program", _NO_TEXT),
    (0, b"\0asm", "a WebAssembly program", _NO_TEXT),
    (0, b"SQLite format 3\0", "an SQLite database", _NO_TEXT),
    (0, b"PAR1", "a Parquet file", _NO_TEXT),
)
_OFFICE_PARTS = (
    (b"word/", "a Word document"),
    (b"xl/", "an Excel workbook"),
    (b"ppt/", "a PowerPoint presentation"),
    (b"mimetypeapplication/epub+zip", "an EPUB book"),
    (b"mimetypeapplication/vnd.oasis.opendocument", "an OpenDocument file"),
)
_OFFICE_SUFFIXES = {
    ".docx": "a Word document",
    ".xlsx": "an Excel workbook",
    ".pptx": "a PowerPoint presentation",
    ".epub": "an EPUB book",
    ".odt": "an OpenDocument file",
}
_BY_MEDIA_TYPE = {
    "application/pdf": Kind.PDF,
    "application/x-pdf": Kind.PDF,
    "text/html": Kind.HTML,
    "application/xhtml+xml": Kind.HTML,
    "text/markdown": Kind.MARKDOWN,
    "text/x-markdown": Kind.MARKDOWN,
}
_BY_SUFFIX = {
    ".pdf": Kind.PDF,
    ".html": Kind.HTML,
    ".htm": Kind.HTML,
    ".xhtml": Kind.HTML,
    ".md": Kind.MARKDOWN,
    ".markdown": Kind.MARKDOWN,
    ".txt": Kind.PLAIN,
    ".text": Kind.PLAIN,
}
# The byte order mark of UTF-8, and UTF-16 with its zero bytes, are not in the way of a look at the first letters.
_NO_LETTERS = b"\xef\xbb\xbf\xff\xfe\0"


def kind_of(head: bytes, *, suffix: str, media_type: str | None) -> Kind:
    """Tell what a file is that begins with these bytes; `suffix` is the end of its name, with the dot.

    Raises:
        Refused: it is something that holds no text, or none that is read here.
    """
    said = _said(suffix.lower(), media_type)
    if head.startswith(_PDF_MAGIC) or (said is Kind.PDF and _PDF_MAGIC in head[:_PDF_HEADER_WITHIN]):
        return Kind.PDF
    _refuse_foreign(head, suffix.lower())
    if said is Kind.PDF:
        raise Refused("is called a PDF but is none; send the PDF itself, or text with a name that ends in .txt")
    if said is None:
        return Kind.HTML if _begins_like_html(head) else Kind.PLAIN
    return said


def _said(suffix: str, media_type: str | None) -> Kind | None:
    """Tell what the caller says that it is: by the media type where that says more than `text/plain`."""
    bare = (media_type or "").partition(";")[0].strip().lower()
    return _BY_MEDIA_TYPE.get(bare) or _BY_SUFFIX.get(suffix)


def _refuse_foreign(head: bytes, suffix: str) -> None:
    for at, magic, what, instead in _FOREIGN:
        if head.startswith(magic, at):
            office = _office(head, suffix) if magic.startswith(b"PK") else None
            raise Refused(f"is {office}; {_SEND_TEXT}" if office else f"is {what}; {instead}")


def _office(head: bytes, suffix: str) -> str | None:
    """Tell which kind of office document a ZIP archive is, if it is one."""
    by_part = (what for part, what in _OFFICE_PARTS if part in head)
    return next(by_part, _OFFICE_SUFFIXES.get(suffix))


def _begins_like_html(head: bytes) -> bool:
    start = head.translate(None, _NO_LETTERS).lstrip().lower()
    while start.startswith(b"<!--") and b"-->" in start:
        start = start.partition(b"-->")[2].lstrip()
    return start.startswith((b"<!doctype html", b"<html"))
