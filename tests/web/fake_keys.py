"""API keys as a table in memory, which a test may change while the service runs."""

from __future__ import annotations

from service.core.callers import Caller, Scope
from service.core.ids import OwnerId

ALL = frozenset(Scope)


class FakeKeys:
    """Keys by their text."""

    def __init__(self) -> None:
        self._callers: dict[str, Caller] = {}
        self._version = 0

    def add(self, name: str, *scopes: Scope, owner: str | None = None) -> dict[str, str]:
        """Make a key, with all scopes unless some are named; give the header that carries it."""
        key = f"key-of-{name}"
        self._callers[key] = Caller(name=name, owner=OwnerId(owner or name), scopes=frozenset(scopes) or ALL)
        self._version += 1
        return {"Authorization": f"Bearer {key}"}

    def revoke(self, name: str) -> None:
        del self._callers[f"key-of-{name}"]
        self._version += 1

    def caller(self, presented: str) -> Caller | None:
        return self._callers.get(presented)

    def version(self) -> int:
        return self._version
