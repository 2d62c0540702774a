"""A reply of the fake model that is written piece by piece, as far as a test lets it."""

from __future__ import annotations

import asyncio
from typing import Literal

from tests.web.stepped import Turnstile

# What is told of the prompt, twice, and whose turn it is to speak.
BEFORE_TEXT = 3


class HeldPieces(asyncio.Event):
    """A `hold` that lets so many pieces through, where an event would let all of them."""

    def __init__(self) -> None:
        super().__init__()
        self._turnstile = Turnstile()

    async def wait(self) -> Literal[True]:
        await self._turnstile()
        return True

    def let(self, pieces: int) -> None:
        """Let so many pieces through."""
        self._turnstile.let(pieces)

    def open(self) -> None:
        """Let everything through from now on."""
        self._turnstile.open()
