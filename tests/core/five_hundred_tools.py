"""Five hundred tools of a company and of a home, with questions in plain words, read from their tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from service.core.tool_port import ToolSpec

_FOLDER = Path(__file__).parent / "tool_search_data"


def five_hundred_tools() -> tuple[ToolSpec, ...]:
    return tuple(
        ToolSpec(name=name, title=title or None, description=description, parameters={"type": "object"})
        for name, title, description in _rows("tools.txt")
    )


def questions(table: str) -> list[tuple[str, str]]:
    """Return the questions of a table, each with the name of the tool that answers it."""
    return [(question, name) for question, name in _rows(table)]


def _rows(table: str) -> Iterator[list[str]]:
    for line in (_FOLDER / table).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            yield [cell.strip() for cell in line.split("|")]
