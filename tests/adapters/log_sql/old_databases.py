"""Databases that earlier versions of the schema have written, brought to life from their SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

_FOLDER = Path(__file__).parent / "schemas"

ENDED: Sequence[Path] = sorted(_FOLDER.glob("[0-9][0-9][0-9][0-9].sql"))
"""One for each revision, in which all turns are at their end."""

UNFINISHED: Sequence[Path] = sorted(_FOLDER.glob("*-unfinished.sql"))
"""One for each revision, whose turns were in their middle when the process ended."""


def database_of(dump: Path, folder: Path) -> str:
    """Make the database anew in the folder, and give its URL."""
    path = folder / "store.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(dump.read_text(encoding="utf-8"))
    connection.close()
    return f"sqlite:///{path}"
