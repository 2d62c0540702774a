"""The logs of a session and of those that it was handed over to, as the API shows them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from service.core.json_types import JsonObject

Logs = dict[str, list[JsonObject]]
"""Records by session; the first session is the one that the client talks to."""

_FAMILY = """
    with recursive family(id) as (
        select ? union select sessions.id from sessions join family on sessions.parent_session = family.id
    )
    select id from family
"""


def family_in(store: Path, session: str) -> list[str]:
    """Name a session and those that it was handed over to, as the store's file holds them."""
    # For reading only: who closes it must not tidy up behind a service that was killed.
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as connection:
        return [id_ for (id_,) in connection.execute(_FAMILY, (session,))]


def in_order(logs: Logs) -> list[JsonObject]:
    """Give all records in the order in which they were stored."""
    return sorted((record for records in logs.values() for record in records), key=lambda record: record["pos"])


def of_type(records: Iterable[JsonObject], *types: str) -> list[JsonObject]:
    """Pick the records of these types."""
    return [record for record in records if record["type"] in types]


def below(logs: Logs, session: str, turn: str) -> Iterator[str]:
    """Name the sessions that a turn was handed over to, at any depth."""
    for record in of_type(logs.get(session, ()), "handoff_started"):
        if record["turn"] == turn:
            child: JsonObject = record["child"]
            yield child["session"]
            yield from below(logs, child["session"], child["turn"])
