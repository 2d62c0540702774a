"""Who asks, and what they may do: what an API key says of its holder (K3).

Pure. Above: the guard, which finds the caller of a request, and the routes, which ask what belongs to whom.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from service.core.ids import LOCAL_OWNER, OwnerId


class Scope(StrEnum):
    """What a key lets its holder do; none includes another."""

    TURNS = "turns"
    """Sessions, turns and readings of its owner: make them, read them, end them."""
    APPROVE = "approve"
    """Read what is its owner's, and decide on calls that wait for a person."""
    ADMIN = "admin"
    """See how the service does: metrics, details of what is ready. No session of anybody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sends a request: the key's name, whose sessions are its own, and what it may do."""

    name: str
    owner: OwnerId
    scopes: frozenset[Scope]


LOCAL_CALLER = Caller(name=LOCAL_OWNER, owner=LOCAL_OWNER, scopes=frozenset(Scope))
"""Whoever asks a service without API keys, which serves this machine only."""
