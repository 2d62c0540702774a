"""The dashboard's files, read once into memory: the page, and what it loads, with its types and tags.

They are less than a megabyte, so a request never waits for a disk. Above: `routes/dashboard.py`, `routes/index.py`.
Below: the folder `dashboard/`, which is all that is served: nothing else can be named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "dashboard"
PAGE = "index.html"

# Named here, since what a system's own table says of .js differs, and a browser runs no module of another type.
MEDIA_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardFile:
    """A file as it is answered; `etag` is strong and changes with each byte."""

    body: bytes
    media_type: str
    etag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """The page, and by their paths the files that it loads."""

    page: DashboardFile
    files: Mapping[str, DashboardFile]


@cache
def read_dashboard() -> Dashboard:
    """Read all files; blocks, so it is called in a thread."""
    found = read_folder(FOLDER)
    # The page stands at the root alone: its addresses are relative to that.
    return Dashboard(page=found.pop(PAGE), files=found)


def read_folder(folder: Path) -> dict[str, DashboardFile]:
    """Read the files of a folder that have a type known here, by their paths in it with `/` between."""
    return {
        path.relative_to(folder).as_posix(): _read(path)
        for path in sorted(folder.rglob("*"))
        if path.suffix in MEDIA_TYPES and path.is_file()
    }


def _read(path: Path) -> DashboardFile:
    body = path.read_bytes()
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return DashboardFile(body=body, media_type=MEDIA_TYPES[path.suffix], etag=etag)
