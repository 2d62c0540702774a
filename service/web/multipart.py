"""A form as it comes, `multipart/form-data` (RFC 7578): its files go to the disk piece by piece.

Above: `uploads.py`, which says what may be in a form. The boundaries are found by python-multipart; its own idea of a
form, and the framework's, takes one that ends early for a whole one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast
from urllib.parse import unquote_to_bytes

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

# Of each file; there may be some hundred of them.
_IN_MEMORY_BYTES = 64 * 1024
_AS_IT_IS = ("", "7bit", "8bit", "binary")
_EXTENDED = "filename*"


class BrokenForm(Exception):
    """The body is no whole form, or not one that is read here; the message is a sentence without its subject.

    `field` is the name of the field that it is about, None where it is the body.
    """

    def __init__(self, reason: str, field: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field


@dataclass(frozen=True, slots=True, kw_only=True)
class FormBounds:
    """How much a form may have; a file may have any number of bytes."""

    files: int
    fields: int
    field_bytes: int


@dataclass(slots=True, kw_only=True)
class Part:
    """A field: its `text`, or the file that it is (`content`), whose `filename` may be empty."""

    name: str
    text: bytearray = field(default_factory=bytearray)
    content: BinaryIO | None = None
    filename: str = ""
    media_type: str | None = None


async def read_form(content_type: str, body: AsyncIterable[bytes], bounds: FormBounds, files: ExitStack) -> list[Part]:
    """Read a form to its end; `files` closes, and so removes, the files in it.

    Raises:
        BrokenForm: it is none, ends early, or has more in it than it may.
    """
    boundary = parse_options_header(content_type)[1].get(b"boundary")
    if not boundary:
        raise BrokenForm("should come with the boundary named in Content-Type")
    reading = _Reading(bounds, files)
    try:
        parser = MultipartParser(
            boundary,
            {
                "on_part_begin": reading.part_begins,
                "on_header_field": reading.header_name,
                "on_header_value": reading.header_value,
                "on_header_end": reading.header_ends,
                "on_headers_finished": reading.headers_end,
                "on_part_data": reading.data,
                "on_end": reading.form_ends,
            },
        )
        async for piece in body:
            parser.write(piece)
            await reading.write_out()
    except FormParserError as error:
        raise BrokenForm("is not multipart/form-data with the boundary that Content-Type names") from error
    if not reading.is_whole:
        raise BrokenForm("ends before its last boundary")
    return reading.parts


class _Reading:
    """What has come so far; its methods are called as the parser finds things."""

    def __init__(self, bounds: FormBounds, files: ExitStack) -> None:
        self.parts: list[Part] = []
        self.is_whole = False
        self._bounds = bounds
        self._files = files
        self._headers: dict[str, bytes] = {}
        self._name = b""
        self._value = b""
        self._to_write: list[tuple[BinaryIO, bytes]] = []

    def part_begins(self) -> None:
        self._headers = {}

    def header_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def header_ends(self) -> None:
        self._headers[self._name.decode("latin-1").lower()] = self._value
        self._name = self._value = b""

    def headers_end(self) -> None:
        self.parts.append(_part(self._headers, self._files))
        name = self.parts[-1].name
        files = sum(part.content is not None for part in self.parts)
        if files > self._bounds.files:
            raise BrokenForm(f"should come at most {self._bounds.files} times", name)
        if len(self.parts) - files > self._bounds.fields:
            raise BrokenForm(f"should have at most {self._bounds.fields} fields beside its files")

    def data(self, data: bytes, start: int, end: int) -> None:
        part = self.parts[-1]
        if part.content is not None:
            self._to_write.append((part.content, data[start:end]))
            return
        part.text += data[start:end]
        if len(part.text) > self._bounds.field_bytes:
            raise BrokenForm(f"should have at most {self._bounds.field_bytes} bytes", part.name)

    def form_ends(self) -> None:
        self.is_whole = True

    async def write_out(self) -> None:
        """Bring to the disk what came of files."""
        if self._to_write:
            await asyncio.to_thread(_write, self._to_write)
            self._to_write = []


def _write(pieces: list[tuple[BinaryIO, bytes]]) -> None:
    for content, piece in pieces:
        content.write(piece)


def _part(headers: dict[str, bytes], files: ExitStack) -> Part:
    kind, said = parse_options_header(headers.get("content-disposition"))
    if kind != b"form-data" or b"name" not in said:
        raise BrokenForm("has a part without a name in its Content-Disposition")
    name = _utf8(said[b"name"], None)
    if headers.get("content-transfer-encoding", b"").decode("latin-1").strip().lower() not in _AS_IT_IS:
        raise BrokenForm("should be sent as it is, without a Content-Transfer-Encoding", name)
    filename = _filename(headers["content-disposition"], said, name)
    if filename is None:
        return Part(name=name)
    media_type = headers.get("content-type", b"").decode("latin-1").strip()
    content = files.enter_context(_spooled())
    return Part(name=name, content=content, filename=filename, media_type=media_type or None)


@contextmanager
def _spooled() -> Generator[BinaryIO]:
    with SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES) as file:
        yield cast(BinaryIO, file)


def _filename(disposition: bytes, said: dict[bytes, bytes], name: str) -> str | None:
    """Find the name of the file; some clients send one that is not ASCII by RFC 5987 only, which the parser drops."""
    plain = said.get(b"filename")
    if plain is not None:
        return _utf8(plain, name)
    for parameter in disposition.decode("latin-1").split(";"):
        key, _, value = (piece.strip() for piece in parameter.partition("="))
        if key.lower() == _EXTENDED:
            charset, _, encoded = value.partition("'")
            if charset.lower() != "utf-8":
                raise BrokenForm("should have a filename in UTF-8", name)
            return _utf8(unquote_to_bytes(encoded.partition("'")[2]), name)
    return None


def _utf8(data: bytes, field: str | None) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BrokenForm("should be named in UTF-8", field) from error
