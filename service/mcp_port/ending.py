"""How a connection to a server ended, told by whoever sees it first to whoever keeps the server going."""

from __future__ import annotations

import asyncio

LOST_SESSION = "does not know this session any more"


class Ending:
    """How a connection ended: `said` is why, in one line, once `came` is set."""

    def __init__(self) -> None:
        self.came = asyncio.Event()
        self.said = ""
        self._is_ours = False

    def end(self, said: str) -> None:
        """Say that it has ended; only the first reason counts, and none once we end it."""
        if not self._is_ours and not self.came.is_set():
            self.said = said
            self.came.set()

    def is_ours(self) -> None:
        """Take note that what ends it from now on is us."""
        self._is_ours = True

    @property
    def lost_session(self) -> bool:
        """Whether the server is there, and has only forgotten us."""
        return self.said == LOST_SESSION
