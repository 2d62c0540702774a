"""How much the long tests do: all of it when they are run by themselves, less among all the tests."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

One = TypeVar("One")

SHORT = os.environ.get("SHORT_CONVERSATIONS") == "1"
"""Set by `make test`, which must not take all day."""


def some(full: Sequence[One], every: int) -> list[One]:
    """Give all of them, or one of `every` that many."""
    return list(full)[::every] if SHORT else list(full)


def turns(full: int, short: int) -> int:
    """Give the number of turns."""
    return short if SHORT else full
