"""Where a reader of the store stands (H6)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """What the store says of a place up to which a reader has seen all.

    `last_pos` is the greatest `pos` ever given. `is_lost` says that what the reader has seen last may not be there: the
    place is beyond `last_pos`, or was that of a record which a restore has taken away.
    """

    last_pos: int
    is_lost: bool
