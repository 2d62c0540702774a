"""The files that `turnkeeper read` sends: opened, and not read into memory."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from service.core.visible import visible
from service.ports.running_service import SentFile

_STDIN = "-"
_NAME_SHOWN = 200


class UnusableFile(Exception):
    """A file can't be sent; the message says which and why in one line."""


@contextmanager
def opened(paths: Sequence[str]) -> Generator[list[SentFile]]:
    """Open the files; `-` is standard input, which is kept in a temporary file, and so is a pipe.

    Raises:
        UnusableFile: one of them can't be read.
    """
    if paths.count(_STDIN) > 1:
        raise UnusableFile("standard input can be read once only")
    with ExitStack() as stack:
        files: list[SentFile] = []
        for path, name in zip(paths, _names(paths), strict=True):
            try:
                content = stack.enter_context(_content(path))
            except OSError as error:
                raise UnusableFile(f"{shown_path(path)} can't be read: {error.strerror}") from error
            media_type = "text/plain" if path == _STDIN else None
            files.append(SentFile(name=name, content=content, media_type=media_type))
        yield files


def _names(paths: Sequence[str]) -> list[str]:
    """Name the documents by their files, with a number where several have the same name."""
    names = ["standard input" if path == _STDIN else _plain(Path(path).name) for path in paths]
    of_name = Counter(names)
    return [name if of_name[name] == 1 else f"({number}) {name}" for number, name in enumerate(names, start=1)]


def _plain(name: str) -> str:
    """Give a name that a service takes: one without hidden characters."""
    return "".join(letter if visible(letter, 1) == letter else "\N{REPLACEMENT CHARACTER}" for letter in _unicode(name))


def shown_path(path: str) -> str:
    """Give a path for people, in one line."""
    return "standard input" if path == _STDIN else visible(_unicode(path), _NAME_SHOWN)


@contextmanager
def _content(path: str) -> Generator[BinaryIO]:
    if path == _STDIN:
        if sys.stdin is None:
            raise UnusableFile("there is no standard input")
        with _kept(sys.stdin.buffer) as kept:
            yield kept
        return
    with Path(path).open("rb") as content:
        if stat.S_ISREG(os.fstat(content.fileno()).st_mode):
            yield content
            return
        with _kept(content) as kept:
            yield kept


@contextmanager
def _kept(stream: BinaryIO) -> Generator[BinaryIO]:
    # The length is told before the content, and what is sent may have to be sent again.
    with tempfile.TemporaryFile() as kept:
        shutil.copyfileobj(stream, kept)
        kept.seek(0)
        yield kept


def _unicode(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "replace")
