"""Changes the file of API keys, one process at a time; whoever reads it meets it whole, as before or as after (K3).

Above: bootstrap. It keeps others out by a lock beside the file, which holds on one machine.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from service.adapters.key_file.atomic import write_atomically
from service.adapters.key_file.reading import LARGEST_BYTES, read_key_file, unreadable, unusable
from service.core.api_keys import RANDOM_BYTES, ApiKey, new_key
from service.core.callers import Scope
from service.core.ids import OwnerId
from service.core.key_list import read_keys, write_keys
from service.ports.key_file import KeyFileError, KeyNameTaken, MadeKey, NoSuchKey

LOCK_WAIT_S = 10.0
"""How long a change waits for another one; each takes some milliseconds."""


@dataclass(slots=True)
class _Draft:
    """What the file has while nobody else may change it."""

    keys: list[ApiKey]
    is_new: bool


class KeyFileEditor:
    """Reads and changes one file of keys."""

    def __init__(
        self,
        path: Path,
        *,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
        lock_wait_s: float = LOCK_WAIT_S,
    ) -> None:
        # Where the name is a link, the file that it leads to is locked and replaced, and the link stays.
        self._path = Path(os.path.realpath(path))
        self._random_bytes = random_bytes
        self._lock_wait_s = lock_wait_s

    def keys(self) -> tuple[ApiKey, ...]:
        """Give all keys, in the order in which they were added.

        Raises:
            KeyFileError: there is no such file, or it can't be used.
        """
        try:
            return read_key_file(self._path)
        except OSError as error:
            raise KeyFileError(unreadable(self._path, error)) from error
        except ValueError as fault:
            raise KeyFileError(unusable(self._path, fault)) from fault

    def add(self, name: str, *, owner: OwnerId, scopes: frozenset[Scope]) -> MadeKey:
        """Make a key with a new name, and the file where there is none.

        Raises:
            KeyNameTaken: another key has the name.
            KeyFileError: the file can't be used or written.
        """
        with self._changing(may_make=True) as draft:
            if any(key.name == name for key in draft.keys):
                raise KeyNameTaken(f"{self._path} has a key with the name {name} already")
            kept, text = self._made(draft, name, owner, scopes)
            draft.keys.append(kept)
        return MadeKey(kept=kept, text=text, is_in_new_file=draft.is_new)

    def rotate(self, name: str, *, owner: OwnerId | None, scopes: frozenset[Scope] | None) -> MadeKey:
        """Put a new key in the place of the one with this name, which ends; None keeps what that one had.

        Raises:
            NoSuchKey: no key has the name.
            KeyFileError: the file can't be used or written.
        """
        with self._changing() as draft:
            at = self._place_of(name, draft.keys)
            before = draft.keys[at]
            kept, text = self._made(draft, name, owner or before.owner, scopes or before.scopes)
            draft.keys[at] = kept
        return MadeKey(kept=kept, text=text, is_in_new_file=False)

    def revoke(self, name: str) -> None:
        """End the key with this name.

        Raises:
            NoSuchKey: no key has the name.
            KeyFileError: the file can't be used or written.
        """
        with self._changing() as draft:
            del draft.keys[self._place_of(name, draft.keys)]

    def _made(self, draft: _Draft, name: str, owner: OwnerId, scopes: frozenset[Scope]) -> tuple[ApiKey, str]:
        taken = {key.id for key in draft.keys}
        while True:
            kept, text = new_key(
                name=name,
                owner=owner,
                scopes=scopes,
                random_bytes=self._random_bytes(RANDOM_BYTES),
                created_at=datetime.now(UTC).replace(microsecond=0),
            )
            if kept.id not in taken:
                return kept, text

    def _place_of(self, name: str, keys: list[ApiKey]) -> int:
        names = [key.name for key in keys]
        if name not in names:
            known = ", ".join(names) or "none"
            raise NoSuchKey(f"{self._path} has no key with the name {name}; known keys: {known}")
        return names.index(name)

    @contextmanager
    def _changing(self, *, may_make: bool = False) -> Generator[_Draft]:
        if not self._path.parent.is_dir():
            raise KeyFileError(f"{self._path} can't be made: {self._path.parent} is no folder")
        with self._locked():
            draft = self._draft(may_make=may_make)
            yield draft
            self._write(write_keys(draft.keys))

    def _write(self, text: str) -> None:
        if len(text) > LARGEST_BYTES:
            raise KeyFileError(f"{self._path} is full: it may have {LARGEST_BYTES} bytes; revoke keys first")
        try:
            # What can't be read again would lock out everybody.
            read_keys(text)
            write_atomically(self._path, text)
        except OSError as error:
            raise KeyFileError(f"{self._path} can't be written: {error.strerror}") from error
        except ValueError as fault:
            raise KeyFileError(f"{self._path} was not changed: {fault}") from fault

    def _draft(self, *, may_make: bool) -> _Draft:
        if may_make and not self._path.exists():
            return _Draft([], is_new=True)
        return _Draft(list(self.keys()), is_new=False)

    @contextmanager
    def _locked(self) -> Generator[None]:
        lock_file = self._path.with_name(f"{self._path.name}.lock")
        # The file stays when the lock goes: removing it would let two processes lock two files of the same name.
        lock = FileLock(lock_file, timeout=self._lock_wait_s, preserve_lock_file=True)
        try:
            lock.acquire()
        except Timeout as error:
            raise KeyFileError(
                f"{self._path} is being changed by another process, which holds the lock {lock_file}; try again"
            ) from error
        except OSError as error:
            raise KeyFileError(f"{self._path} can't be changed: {lock_file}: {error.strerror}") from error
        try:
            yield
        finally:
            lock.release()
