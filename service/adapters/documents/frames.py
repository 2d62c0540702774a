"""How a child hands over what it found: frames on its standard output, the last one says how it went.

A frame is one byte for its kind, four for its length (big-endian), and so many bytes of UTF-8. A stream that ends
without a last frame is that of a child that died.
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import BinaryIO

HEADER = struct.Struct(">cI")
# Large enough that a frame costs nothing, small enough for a buffer of each reader.
MAX_FRAME_BYTES = 1 << 20


class FrameKind(Enum):
    """What a frame holds.

    TEXT is a piece of the text; DONE follows the last piece with the media type; REFUSED says why there is no usable
    text; FAILED tells of a defect of the child.
    """

    TEXT = b"T"
    DONE = b"D"
    REFUSED = b"R"
    FAILED = b"F"


class BrokenFrame(Exception):
    """Bytes that no child of ours writes."""


def write_frame(out: BinaryIO, kind: FrameKind, payload: bytes) -> None:
    """Write one frame of at most `MAX_FRAME_BYTES`, through to the reader."""
    out.write(HEADER.pack(kind.value, len(payload)) + payload)
    out.flush()


def parse_header(header: bytes) -> tuple[FrameKind, int]:
    """Return a frame's kind and the length in bytes of what follows.

    Raises:
        BrokenFrame: there is no such kind, or the length is above the bound.
    """
    code, length = HEADER.unpack(header)
    if length > MAX_FRAME_BYTES:
        raise BrokenFrame(f"a frame of {length} bytes")
    try:
        return FrameKind(code), length
    except ValueError as error:
        raise BrokenFrame(f"a frame of kind {code!r}") from error
