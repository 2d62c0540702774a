"""The file of API keys, as the command line changes it (K3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from service.core.api_keys import ApiKey
from service.core.callers import Scope
from service.core.errors import TurnkeeperError
from service.core.ids import OwnerId


class KeyFileError(TurnkeeperError):
    """The file can't be used or changed; the text is one line that names it, and tells no key and no hash."""


class KeyNameTaken(KeyFileError):
    """A key has this name already; nothing was changed."""


class NoSuchKey(KeyFileError):
    """No key has this name; the text names those that there are, and nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeKey:
    """A key that was made just now: what is kept of it, and its text, which nothing tells again."""

    kept: ApiKey
    text: str = field(repr=False)
    is_in_new_file: bool


class KeyChanges(Protocol):
    """Reads and changes a file of keys; each change is whole or not made, and is seen by a service that runs."""

    def keys(self) -> Sequence[ApiKey]:
        """Give all keys, in the order in which they were added.

        Raises:
            KeyFileError: there is no such file, or it can't be used.
        """
        ...

    def add(self, name: str, *, owner: OwnerId, scopes: frozenset[Scope]) -> MadeKey:
        """Make a key with a new name, and the file where there is none.

        Raises:
            KeyNameTaken: another key has the name.
            KeyFileError: the file can't be used or written.
        """
        ...

    def rotate(self, name: str, *, owner: OwnerId | None, scopes: frozenset[Scope] | None) -> MadeKey:
        """Put a new key in the place of the one with this name, which ends; None keeps what that one had.

        Raises:
            NoSuchKey: no key has the name.
            KeyFileError: the file can't be used or written.
        """
        ...

    def revoke(self, name: str) -> None:
        """End the key with this name.

        Raises:
            NoSuchKey: no key has the name.
            KeyFileError: the file can't be used or written.
        """
        ...
