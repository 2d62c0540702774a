"""API keys: how one is made, what is kept of it, and whose key was presented (K3).

Pure: random bytes and the time come from whoever makes a key. Above: `key_list`, the file that holds them. Below: the
callers that they stand for.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b32encode, urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from service.core.callers import Caller, Scope
from service.core.ids import OwnerId

PREFIX = "tk_"
"""What each key begins with, so that programs that search for secrets in files find one."""

_ID_BYTES, _SECRET_BYTES = 5, 32

RANDOM_BYTES = _ID_BYTES + _SECRET_BYTES
"""Random bytes that a new key is made of."""

SENT_KEY_VARIABLE = "TURNKEEPER_API_KEY"
"""The environment variable with the key that `chat` and `read` send; no setting, since a service has none."""

LONGEST_PRESENTED = 200
"""Characters of what may be a key; a key has 55."""

NAME_CHARACTERS = 64
"""Characters that the name of a key may have, and that of its owner."""

_NAME = re.compile(rf"[A-Za-z0-9._-]{{1,{NAME_CHARACTERS}}}")
_SECRET = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{30,}}|[0-9A-Fa-f]{{64}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """What is kept of a key: its name and rights, and the SHA-256 of its text in hex.

    A slow hash with a salt would protect nothing more: those are for passwords, which can be guessed. The text has 256
    random bits, and a slow hash would have to be computed for each request.
    """

    id: str
    name: str
    owner: OwnerId
    scopes: frozenset[Scope]
    hash: str = field(repr=False)
    created_at: datetime

    @property
    def caller(self) -> Caller:
        """Give who the holder of this key is."""
        return Caller(name=self.name, owner=self.owner, scopes=self.scopes)


def new_key(
    *, name: str, owner: OwnerId, scopes: frozenset[Scope], random_bytes: bytes, created_at: datetime
) -> tuple[ApiKey, str]:
    """Make a key of `RANDOM_BYTES` random bytes; give what is kept of it, and its text, which is not."""
    key_id = b32encode(random_bytes[:_ID_BYTES]).decode().lower()
    secret = urlsafe_b64encode(random_bytes[_ID_BYTES:RANDOM_BYTES]).rstrip(b"=").decode()
    text = f"{PREFIX}{key_id}_{secret}"
    kept = ApiKey(id=key_id, name=name, owner=owner, scopes=scopes, hash=hash_of(text), created_at=created_at)
    return kept, text


def hash_of(text: str) -> str:
    """Give what is kept of a key's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def caller_of(keys: Iterable[ApiKey], presented: str) -> Caller | None:
    """Say who holds the key that was presented; None when it is none of these.

    It looks at all of them whatever it finds, so that the time that it takes tells nothing about any.
    """
    if len(presented) > LONGEST_PRESENTED or not presented.isascii():
        return None
    found, presented_hash = None, hash_of(presented)
    for key in keys:
        if hmac.compare_digest(key.hash, presented_hash):
            found = key
    return None if found is None else found.caller


def fault_of_name(name: str) -> str | None:
    """Say in a clause why neither a key nor an owner can have this name; None when they can. The name is not told."""
    if looks_secret(name):
        return "it looks like a key or a hash, and names are shown"
    if _NAME.fullmatch(name) is None:
        return f"it must be 1 to {NAME_CHARACTERS} characters of A-Z a-z 0-9 . _ -"
    return None


def looks_secret(text: str) -> bool:
    """Say whether a text may be a key, or a hash, that stands in the wrong place."""
    return _SECRET.search(text) is not None
