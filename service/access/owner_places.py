"""Counts what each owner has that has not ended: a place is taken before the work for it begins (K3).

Above: the intake of turns, and readings. Below: the bounds, in `core.owner_bounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Generic, TypeVar

from service.core.ids import OwnerId

Item = TypeVar("Item", bound=str)


class OwnerPlaces(Generic[Item]):
    """Which of the things that are counted belong to whom; each counts once, whether it is to be made or is there."""

    def __init__(self) -> None:
        self._owners: dict[Item, OwnerId] = {}
        self._counts: dict[OwnerId, int] = {}
        self._kept: set[Item] = set()

    def count(self, owner: OwnerId) -> int:
        """Say how many an owner has."""
        return self._counts.get(owner, 0)

    @contextmanager
    def kept_for(self, item: Item, owner: OwnerId, check: Callable[[int], None]) -> Generator[None]:
        """Keep a place for what is about to be made; afterwards it is free again, unless that has taken it.

        Raises:
            RequestRefused: `check` refuses one more beside as many as the owner has.
        """
        check(self.count(owner))
        self.take(item, owner)
        self._kept.add(item)
        try:
            yield
        finally:
            if item in self._kept:
                self.free(item)

    def take(self, item: Item, owner: OwnerId) -> None:
        """Count it from now on, if it isn't counted yet; nothing is refused here."""
        self._kept.discard(item)
        if item not in self._owners:
            self._owners[item] = owner
            self._counts[owner] = self.count(owner) + 1

    def free(self, item: Item) -> None:
        """Count it no more, if it is counted."""
        self._kept.discard(item)
        owner = self._owners.pop(item, None)
        if owner is None:
            return
        left = self._counts[owner] - 1
        if left:
            self._counts[owner] = left
        else:
            del self._counts[owner]
