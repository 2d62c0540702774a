"""What a process holds, as Linux tells it."""

from __future__ import annotations

import os
import resource
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_PAGE_KIB = resource.getpagesize() / 1024


def open_sockets(pid: int) -> int:
    """Count the sockets that are open; files are the store's, which opens more when many read at the same time."""
    count = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        # One may be closed before it is looked at.
        with suppress(FileNotFoundError):
            count += os.readlink(entry).startswith("socket:")
    return count


def resident_kib(pid: int) -> float:
    """Give the memory that is held."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_KIB


def files_allowed() -> int:
    """Give how many files this process, and one that it starts, may be let open."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


@contextmanager
def as_many_files_as_may_be() -> Generator[None]:
    """Let this process open as many files as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
