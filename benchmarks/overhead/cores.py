"""Which core the measured server has for itself, and which the fake upstream and the client share.

Above: what starts processes. Below: nothing.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cores:
    """Two cores; None where the machine has one only, and nothing is pinned."""

    server: int | None
    client: int | None


def two_cores() -> Cores:
    """Take the first two cores that this process may use."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        return Cores(server=None, client=None)
    return Cores(server=allowed[0], client=allowed[1])


@contextmanager
def pinned(core: int | None) -> Generator[None]:
    """Keep this thread, and the processes that it starts meanwhile, on one core; None leaves it where it is."""
    before = os.sched_getaffinity(0)
    if core is not None:
        os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
