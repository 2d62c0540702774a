"""A caller's `Idempotency-Key`, and when two requests with it are the same (H3)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256

from service.core.ids import OwnerId, ReadingId, SessionId, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestKey:
    """The key of a request that creates something; `body` is the hash of what it asks for."""

    owner: OwnerId
    method: str
    path: str
    key: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedAnswer:
    """What the first request with a key created: a session, or a turn of one; `body` is the hash of that request."""

    body: bytes
    session: SessionId
    turn: TurnId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedReading:
    """The reading that the first request with a key made; `body` is the hash of that request."""

    body: bytes
    reading: ReadingId


def body_hash(body: bytes) -> bytes:
    """Hash a body as what it says: neither white space nor the order of keys matters, and 5.0 is 5.

    Of a body that is no JSON the bytes count.
    """
    try:
        said = json.loads(body, parse_float=_number) if body.strip() else None
    except (ValueError, RecursionError):
        return sha256(body).digest()
    return sha256(json.dumps(said, sort_keys=True).encode()).digest()


def _number(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() else number
