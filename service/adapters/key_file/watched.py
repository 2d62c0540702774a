"""The file of API keys as the service uses it: looked at for each request, so that a change counts at once (K3).

Above: bootstrap. Who changes the file is the editor; both work on one machine, since neither a lock nor the time of a
change can be relied on over a network.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import structlog

from service.adapters.key_file.reading import read_key_file, unreadable, unusable
from service.core.api_keys import ApiKey, caller_of
from service.core.callers import Caller
from service.ports.key_file import KeyFileError

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What tells one state of a file from another without reading it."""

    modified_ns: int
    changed_ns: int
    inode: int
    bytes: int


class KeyFile:
    """The keys that the file has now.

    While it is missing or can't be read nobody has a key. Each question looks at the file, which blocks for as long as
    its disk takes: microseconds, and to read it again after a change, a millisecond.
    """

    def __init__(self, path: Path) -> None:
        """Read the file for the first time.

        Raises:
            KeyFileError: it is missing or can't be used.
        """
        self._path = path
        self._version = 0
        self._told: tuple[_Seen | None, str] | None = None
        try:
            self._seen: _Seen | None = _seen(path)
            self._keys = read_key_file(path)
        except OSError as error:
            raise KeyFileError(unreadable(path, error)) from error
        except ValueError as fault:
            raise KeyFileError(unusable(path, fault)) from fault

    def keys(self) -> tuple[ApiKey, ...]:
        """Give all keys that are good now."""
        self._look()
        return self._keys

    def caller(self, presented: str) -> Caller | None:
        """Say who holds this key; None when it is none, or no longer. Takes the same time for any wrong one."""
        return caller_of(self.keys(), presented)

    def version(self) -> int:
        """Give a number that grows when the keys have changed."""
        self._look()
        return self._version

    def _look(self) -> None:
        seen = None
        try:
            seen = _seen(self._path)
            if seen == self._seen:
                return
            keys = read_key_file(self._path)
        except OSError as error:
            # What could not be read now may be readable at the next look without having changed.
            seen = None
            self._let_nobody_in(None, unreadable(self._path, error))
        except ValueError as fault:
            self._let_nobody_in(seen, unusable(self._path, fault))
        else:
            self._take(keys)
        self._seen = seen

    def _let_nobody_in(self, seen: _Seen | None, fault: str) -> None:
        self._replace(())
        if (seen, fault) != self._told:
            self._told = (seen, fault)
            log.error("key_file.unusable", error=f"{fault}; nobody is let in until it is right again")

    def _take(self, keys: tuple[ApiKey, ...]) -> None:
        self._replace(keys)
        if self._told is not None:
            self._told = None
            log.info("key_file.usable_again", path=str(self._path), keys=len(keys))

    def _replace(self, keys: tuple[ApiKey, ...]) -> None:
        if keys != self._keys:
            self._keys = keys
            self._version += 1


def _seen(path: Path) -> _Seen:
    found = os.stat(path)
    return _Seen(found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size)
