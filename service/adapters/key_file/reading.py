"""A file of API keys as it is read, and what is told of one that can't be (K3, K5).

Above: the watched file, and its editor. Below: `key_list` reads the text.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from service.core.api_keys import ApiKey
from service.core.key_list import read_keys

LARGEST_BYTES = 1024 * 1024
"""Bytes that a file of keys may have; that is about 4000 keys."""


def read_key_file(path: Path) -> tuple[ApiKey, ...]:
    """Read a file of keys.

    Raises:
        OSError: it is missing or can't be read.
        ValueError: it is no file of keys; the text is a clause, and tells no key and no hash.
    """
    # To open a pipe would wait for whoever writes to it.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError("it is no regular file")
    with path.open("rb") as file:
        content = file.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        raise ValueError(f"it has more than {LARGEST_BYTES} bytes")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        # Its own words have the bytes.
        raise ValueError("it is no UTF-8") from None
    return read_keys(text)


def others_rights(path: Path) -> str | None:
    """Say in one line that others than its owner may read or change the file; None when they may not.

    On Windows file modes say nothing of that, and it is always None.
    """
    if os.name != "posix":
        return None
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return None
    if not mode & (stat.S_IRWXG | stat.S_IRWXO):
        return None
    changes = " and change" if mode & (stat.S_IWGRP | stat.S_IWOTH) else ""
    return f"others can read{changes} the API keys in {path} (mode {mode:04o}); chmod 600 ends that"


def unreadable(path: Path, error: OSError) -> str:
    """Say in one line that a file can't be read."""
    if isinstance(error, FileNotFoundError):
        return f"{path} is not there; `turnkeeper keys add NAME` makes it"
    return f"{path} can't be read: {error.strerror}"


def unusable(path: Path, fault: ValueError) -> str:
    """Say in one line what is wrong in a file."""
    return f"{path} can't be used: {fault}"
