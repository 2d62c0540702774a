"""Two keys of one owner: what is kept of each, and its text."""

from __future__ import annotations

from datetime import UTC, datetime

from service.core.api_keys import RANDOM_BYTES, ApiKey, new_key
from service.core.callers import Scope
from service.core.ids import OwnerId

MADE_AT = datetime(2030, 1, 2, 9, 30, tzinfo=UTC)


def made(name: str, owner: str, scope: Scope, *, seed: int) -> tuple[ApiKey, str]:
    return new_key(
        name=name,
        owner=OwnerId(owner),
        scopes=frozenset({scope}),
        random_bytes=bytes((seed + at) % 256 for at in range(RANDOM_BYTES)),
        created_at=MADE_AT,
    )


CI, CI_TEXT = made("ci", "ci", Scope.TURNS, seed=0)
PHONE, PHONE_TEXT = made("phone", "ci", Scope.APPROVE, seed=1)
KEYS = (CI, PHONE)
