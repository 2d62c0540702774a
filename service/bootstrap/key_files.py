"""The file of API keys: for the command line that changes it, and for the service that looks at it (K3)."""

from __future__ import annotations

from pathlib import Path

from service.adapters.key_file import KeyFile, KeyFileEditor, others_rights
from service.ports.api_keys import ApiKeys
from service.ports.key_file import KeyChanges


def open_keys(path: Path) -> ApiKeys:
    """Read the file, and go on looking at it.

    Raises:
        KeyFileError: it is missing or can't be used; the text says why in one line.
    """
    return KeyFile(path)


def change_keys(path: Path) -> KeyChanges:
    """Give what changes the file, which need not be there yet."""
    return KeyFileEditor(path)


def warning_about_keys(path: Path) -> str | None:
    """Say in one line that others than its owner may read or change the file; None when they may not."""
    return others_rights(path)
