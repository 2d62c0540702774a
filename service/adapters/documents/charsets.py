"""The encoding of a text: its byte order mark, what is said of it, or what it looks like."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO

from service.adapters.documents.refusal import Refused

CHUNK_BYTES = 1 << 20
# UTF-32 before UTF-16: the mark of the one begins with that of the other.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_PARAMETER = re.compile(r"charset\s*=\s*[\"']?([^\s;\"']+)", re.IGNORECASE)
_META = re.compile(rb"<(?:meta|\?xml)\b[^>]*?\b(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_META_WITHIN = 4096
# Codecs of Python that are no encodings of documents.
_NO_CHARSETS = frozenset(
    {"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"}
)
# The encodings that documents without a mark are in. The library knows more, and finds them where they are not.
_IN_USE = """
    cp1252 cp1250 cp1251 koi8_r koi8_u cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp874 cp866 iso8859_2 cp932 euc_jp
    gb18030 big5 euc_kr
"""
_WESTERN = "cp1252"
_WIDE = ("utf-16", "utf-32")
# Pages that say ISO 8859-1 or ASCII mean Windows-1252: the WHATWG's list of labels says so too. Without a mark,
# UTF-16 is little-endian there; Python's codec of that name asks for a mark.
_MEANS = {"iso8859-1": _WESTERN, "ascii": _WESTERN, "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
# Enough to tell the language by; the detection takes time in proportion.
_SAMPLE_BYTES = 1 << 16
_BEFORE_BYTES = 1 << 12
# In a text of which so many bad bytes are among good characters, a few bytes are damaged.
_GOOD_FOR_EACH_BAD = 20
_CONTROLS = re.compile(rb"[\x00-\x07\x0e-\x19\x1c-\x1f]")
_THREE_HIGH = re.compile(rb"[\x80-\xff]{3}")
_BINARY = "has binary data in it; send it as UTF-8 text"
_UNKNOWN = "is in an encoding that could not be told; send it as UTF-8, or name its charset in its media type"


def encoding_of(file: BinaryIO, *, media_type: str | None, html: bool) -> str:
    """Find the name of the codec that decodes the whole file.

    UTF-8 goes before what is said: other encodings hardly ever make valid UTF-8, and what is said is often wrong.
    The zero bytes of UTF-16 without a mark, and the ESC with which ISO-2022 switches, are the exceptions.

    Raises:
        Refused: the file is no text, or in an encoding that could not be found.
    """
    file.seek(0)
    head = file.read(_META_WITHIN)
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            _demand(file, encoding)
            return encoding
    bad_at = first_bad_byte(file, "utf-8")
    said = [encoding for encoding in _said(head, media_type, html) if first_bad_byte(file, encoding) is None]
    if bad_at is None:
        return next((name for name in said if _explains(name, head)), "utf-8")
    return said[0] if said else _looks_like(file, bad_at)


def _explains(encoding: str, head: bytes) -> bool:
    """Tell whether an encoding is the reason for bytes that are valid UTF-8 and yet no letters."""
    return (b"\0" in head and encoding.startswith(_WIDE)) or (b"\x1b" in head and encoding.startswith("iso2022"))


def decoded(file: BinaryIO, encoding: str) -> Iterator[str]:
    """Decode the file piece by piece; line ends stay as they are, damaged bytes become U+FFFD.

    Raises:
        Refused: there are NUL characters in it.
    """
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for chunk in _chunks(file):
        yield _without_nul(decoder.decode(chunk))
    yield _without_nul(decoder.decode(b"", final=True))


def first_bad_byte(file: BinaryIO, encoding: str) -> int | None:
    """Return about where the first byte is that this codec can't decode, or None if it decodes all."""
    decoder = codecs.getincrementaldecoder(encoding)()
    done = 0
    try:
        for chunk in _chunks(file):
            decoder.decode(chunk)
            done += len(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        return done + error.start
    return None


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise Refused(_BINARY)
    return text


def _demand(file: BinaryIO, encoding: str) -> None:
    bad_at = first_bad_byte(file, encoding)
    if bad_at is not None:
        name = encoding.removesuffix("-sig").upper()
        raise Refused(f"is marked as {name} but damaged at byte {bad_at}; save it anew as UTF-8")


def _said(head: bytes, media_type: str | None, html: bool) -> Iterator[str]:
    """Give the encodings that the media type and the page itself name, where there are such."""
    parameter = _PARAMETER.search(media_type or "")
    if parameter and (name := _codec(parameter[1])):
        yield name
    meta = _META.search(head) if html else None
    # A page whose own letters say that it is in UTF-16 is not.
    if meta and (name := _codec(meta[1].decode("ascii", "replace"))) and not name.startswith(_WIDE):
        yield name


def _codec(label: str) -> str | None:
    try:
        name = codecs.lookup(label).name
        # A codec from bytes to bytes is none for texts, and says so here.
        "".encode(name)
    except (LookupError, ValueError):
        return None
    return None if name in _NO_CHARSETS else _MEANS.get(name, name)


def _looks_like(file: BinaryIO, bad_at: int) -> str:
    sample = _sample(file, bad_at)
    if _CONTROLS.search(sample):
        raise Refused(_BINARY)
    if _is_damaged_utf8(sample):
        return "utf-8"
    encoding = _by_language(sample) or _western(sample)
    if encoding is None or first_bad_byte(file, encoding) is not None:
        raise Refused(_UNKNOWN)
    return encoding


def _by_language(sample: bytes) -> str | None:
    """Tell the encoding by the language that the text is in when decoded so, if it is any."""
    # The import takes longer than all else that is done for most texts.
    from charset_normalizer import from_bytes

    telling = b"".join(line for line in sample.splitlines(keepends=True) if not line.isascii())
    matches = list(from_bytes(telling, cp_isolation=[*_IN_USE.split()]))
    # Without a language that it recognised, the library's best is any encoding that fits.
    if not matches or not matches[0].coherence:
        return None
    best = [match for match in matches if match.coherence >= matches[0].coherence]
    western = any(_WESTERN in match.could_be_from_charset for match in best)
    return _WESTERN if western else matches[0].encoding


def _western(sample: bytes) -> str | None:
    """Tell Windows-1252 by its looks: accents and signs stand alone, or by two, among plain letters."""
    return None if _THREE_HIGH.search(sample) else _WESTERN


def _sample(file: BinaryIO, bad_at: int) -> bytes:
    """Read the bytes around the first that is not UTF-8, from the beginning of a line where there is one."""
    start = max(0, bad_at - _BEFORE_BYTES)
    file.seek(start)
    sample = file.read(_SAMPLE_BYTES)
    if start == 0:
        return sample
    return sample[sample.find(b"\n", 0, bad_at - start) + 1 :]


def _is_damaged_utf8(sample: bytes) -> bool:
    text = sample.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = sum(not character.isascii() for character in text) - bad
    return good >= _GOOD_FOR_EACH_BAD * bad
