"""Who holds a key to the service (K3)."""

from __future__ import annotations

from typing import Protocol

from service.core.callers import Caller


class ApiKeys(Protocol):
    """The keys that are good now; they may change at any time."""

    def caller(self, presented: str) -> Caller | None:
        """Say who holds this key; None when it is none, or no longer. Takes the same time for any wrong one."""
        ...

    def version(self) -> int:
        """Give a number that grows when the keys have changed."""
        ...
