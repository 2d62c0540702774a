"""Leaves out the places whose records a restore has taken away, so that no reader's cursor leads to others (H6)."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import insert, update

from service.adapters.log_sql.failures import store_failures
from service.adapters.log_sql.sqlite_copy import changing
from service.adapters.log_sql.tables import lost_places, store

LEFT_OUT = 1_000_000_000
"""How many records there may have been behind those of a backup. The store that had them may be gone, so nobody can be
asked; and as numbers of JSON go there are places for nine million restores."""


def leave_places_out(copy: Path, *, after: int) -> None:
    """Let the next record of a copy stand beyond all that a reader can have seen; `after` is the last place in it.

    Raises:
        StoreFailure: it can't be written.
    """
    with store_failures(f"{copy} can't be written"), changing(copy) as connection:
        connection.execute(insert(lost_places).values(after_pos=after, up_to_pos=after + LEFT_OUT))
        connection.execute(update(store).values(pos_floor=after + LEFT_OUT))
