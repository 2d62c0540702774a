"""Looks for the canaries in bytes and in files: as they are, in base64, percent-encoded, in JSON, in hex (K5).

Above: `plugin`. Below: `canaries`.
"""

from __future__ import annotations

import json
import os
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tests.secrets.canaries import CANARIES, MARK

CHUNK_BYTES = 1024 * 1024
MOST_BYTES = 64 * 1024 * 1024
"""Of a file that is larger, so much of its beginning and as much of its end is read."""

SOME_PART = "a part of one, or another one with its mark"


def _in_base64(text: bytes) -> Iterator[bytes]:
    """Give what of a text's base64 doesn't depend on what stands around it, for each place it may stand at."""
    for offset in range(3):
        first = -(-8 * offset // 6)
        last = 8 * (offset + len(text)) // 6
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(b"\0" * offset + text)[first:last]


def forms_of(secret: bytes) -> frozenset[bytes]:
    """Give the forms in which a secret could be written down."""
    text = secret.decode()
    in_json = {json.dumps(text)[1:-1], json.dumps(json.dumps(text)[1:-1])[1:-1]}
    written = {text, quote(text, safe=""), quote(text), *in_json, repr(text)[1:-1]}
    return frozenset({form.encode() for form in written} | {secret.hex().encode(), *_in_base64(secret)})


# Two of the secrets are base64 themselves, which others may write down in base64 once more.
_NEEDLES = forms_of(MARK.encode()) | forms_of(next(_in_base64(MARK.encode())))
_FORMS = {name: forms_of(secret) for name, secret in CANARIES.items()}
_OVERLAP = max(len(form) for forms in _FORMS.values() for form in forms)


def canaries_in(data: bytes) -> set[str]:
    """Name the canaries that these bytes hold, in whatever form."""
    if not any(needle in data for needle in _NEEDLES):
        return set()
    found = {name for name, forms in _FORMS.items() if any(form in data for form in forms)}
    return found or {SOME_PART}


@dataclass(frozen=True, slots=True)
class Find:
    """A file, and the names of what it holds."""

    path: Path
    names: frozenset[str]


def search_folder(folder: Path, *, without: frozenset[Path] = frozenset()) -> list[Find]:
    """Look into each file below a folder, but those that are or lie in `without`."""
    found: list[Find] = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if Path(place, name) not in without]
        paths = [Path(place, name) for name in files]
        for path in (path for path in paths if path not in without and path.is_file() and not path.is_symlink()):
            names = _in_file(path)
            if names:
                found.append(Find(path, frozenset(names)))
    return sorted(found, key=lambda find: find.path)


def _in_file(path: Path) -> set[str]:
    found: set[str] = set()
    try:
        for part in _parts(path):
            found |= canaries_in(part)
    except FileNotFoundError:
        # What a test started may clean up behind itself until the very end.
        return set()
    return found - {SOME_PART} or found


def _parts(path: Path) -> Iterator[bytes]:
    """Give a file in pieces, each of which begins with the end of the one before."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        tail, read = b"", 0
        while piece := file.read(CHUNK_BYTES):
            yield tail + piece
            tail, read = piece[-_OVERLAP:], read + len(piece)
            if size > 2 * MOST_BYTES and MOST_BYTES <= read < size - MOST_BYTES:
                read = file.seek(size - MOST_BYTES)
                tail = b""
