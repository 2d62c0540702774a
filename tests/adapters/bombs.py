"""Answers that are small on the way and huge when they are unpacked."""

from __future__ import annotations

import gzip
import struct
import zlib
from functools import cache

MIB = 1024 * 1024
GIB = 1024 * MIB
_GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_END_OF_DEFLATE = b"\x03\x00"


@cache
def gibibyte_of_zeros() -> bytes:
    """One whole gzip member of a MiB that holds a GiB of zeros, made of one piece that is repeated."""
    zeros = bytes(MIB)
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    piece = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(1024):
        checksum = zlib.crc32(zeros, checksum)
    return b"".join([_GZIP_HEAD, *[piece] * 1024, _END_OF_DEFLATE, struct.pack("<II", checksum, GIB)])


@cache
def packed_twice() -> bytes:
    """The same, packed again: a few KiB."""
    return gzip.compress(gibibyte_of_zeros(), 9)


def deflated() -> bytes:
    """A GiB of zeros by `Content-Encoding: deflate`, without its checksum, which nobody gets to."""
    return b"\x78\xda" + gibibyte_of_zeros()[len(_GZIP_HEAD) : -10]
