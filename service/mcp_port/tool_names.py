"""The names under which tools of servers are offered: `server__tool`, in what a tool's name may be made of (X3)."""

from __future__ import annotations

import re
from hashlib import sha256

MOST_CHARACTERS = 64
_OTHER = re.compile(r"[^A-Za-z0-9_-]")
_DIGITS = 8


def offered_name(server: str, tool: str) -> str:
    """Give the name of a server's tool, always the same for the same two.

    What a name may not have becomes `_`. One that is too long is cut, and ends with a few digits of its hash, so that
    two that begin alike stay two.
    """
    name = f"{server}__{_OTHER.sub('_', tool)}"
    if len(name) <= MOST_CHARACTERS:
        return name
    return f"{name[: MOST_CHARACTERS - _DIGITS - 1]}_{sha256(tool.encode()).hexdigest()[:_DIGITS]}"
