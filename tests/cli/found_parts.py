"""Readings whose chunks say whether they are of use: `key` is kept, `junk` is answered with no JSON, and so on."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.readings.reader_llama import AskedChunk, Says
from tests.readings.reading_house import part, retain, update

SIZES = {"chunk_tokens": "128", "memory_budget": "64"}
"""With these each `part` is a chunk of its own."""


def reads(asked: AskedChunk) -> Says:
    """Answer as the chunk says."""
    if "junk" in asked.section:
        return "no JSON at all"
    if "huge" in asked.section:
        return update("word " * 80)
    if "key" in asked.section:
        return update("The key is in the drawer.")
    return retain(exit="exit" in asked.section)


def book(folder: Path, *says: str, name: str = "book.txt") -> str:
    """Write a file whose chunks say these things, and give its path."""
    path = folder / name
    path.write_text("".join(part(number, said) for number, said in enumerate(says, start=1)), encoding="utf-8")
    return str(path)


class Gate:
    """Lets the model answer a chunk, or keeps it; `asked` is set when one is kept."""

    def __init__(self, *, after: int = 0) -> None:
        self._left = after
        self.asked = asyncio.Event()
        self.open = asyncio.Event()

    def __call__(self) -> asyncio.Event | None:
        if self._left > 0:
            self._left -= 1
            return None
        self.asked.set()
        return self.open
