"""Replaces a file by one with another text, in one step that a crash can't cut in two."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Write a file of which nobody ever sees a part; a new one is for its owner's eyes only.

    One that was there before keeps its owner, and its group's right to read: a service that runs as another user than
    who changes its keys can read them as before.

    Raises:
        OSError: it can't be written, or can't be given to who owned it; the file is as before.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            if os.name == "posix":
                _take_rights(file.fileno(), path)
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    if os.name == "posix":
        _sync_folder(path.parent)


def _take_rights(descriptor: int, path: Path) -> None:
    try:
        before = os.stat(path)
    except FileNotFoundError:
        return
    made, group_reads = os.fstat(descriptor), before.st_mode & stat.S_IRGRP
    if made.st_uid != before.st_uid or (group_reads and made.st_gid != before.st_gid):
        os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IRUSR | stat.S_IWUSR | group_reads)


def _sync_folder(folder: Path) -> None:
    # Without it the new file may be lost with the power, and the old one is there again. Not each file system can.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
