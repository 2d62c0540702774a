"""What the benchmark hands to a peer's server: the port, the llama-server before which it serves, a new database file.

The servers run in their own environments, where nothing of this project can be imported; this file lies beside them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

DATABASE = "chat.sqlite3"


class Settings(NamedTuple):
    """Where to serve and whom to ask; `api` is llama-server's address with the part that OpenAI's clients expect."""

    port: int
    upstream: str

    @property
    def api(self) -> str:
        """The address of the OpenAI-compatible interface."""
        return self.upstream.rstrip("/") + "/v1"


def given_settings() -> Settings:
    """Read the command line: the port and llama-server's root address."""
    port, upstream = sys.argv[1:]
    return Settings(port=int(port), upstream=upstream)


def new_database() -> str:
    """Make room for a database in the folder that PEER_FOLDER names, and give the name of its file.

    What an earlier run left there is removed: each run begins with none.
    """
    folder = Path(os.environ["PEER_FOLDER"])
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for file in folder.glob(f"{DATABASE}*"):
        file.unlink()
    return str(folder / DATABASE)
