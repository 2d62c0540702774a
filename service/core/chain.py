"""The hash chain over a session's records (S3): each record's hash covers its body and all before it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

GENESIS = bytes(32)
"""What stands before the record with `seq` 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The end of a session's log: its last `seq` (0 when empty) and that record's hash (32 raw bytes)."""

    seq: int
    hash: bytes


EMPTY = Head(seq=0, hash=GENESIS)


def link(previous_hash: bytes, body: bytes) -> bytes:
    """Hash one record: SHA-256 over the previous hash (32 raw bytes) and the body's exact bytes (S3)."""
    return sha256(previous_hash + body).digest()
