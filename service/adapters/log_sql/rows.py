"""Rows as values and values as rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import RowMapping

from service.adapters.log_sql.tables import HIDDEN_STATE, LogKind, sessions
from service.codec import format_time, parse_time
from service.core import chain
from service.core.chain import Head
from service.core.ids import OwnerId, ReadingId, SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.reading.status import ReadingStatus
from service.core.records import ParentLink
from service.core.session_status import SessionStatus
from service.ports import NewSession, SessionRow
from service.ports.reading_log import NewReading, ReadingRow

Row = Mapping[str, Any]
"""A row to be written, by its columns' names."""

NEW_LOG_COLUMNS = tuple(column.name for column in sessions.columns if column is not sessions.c.key)
"""What is given of a log that is made: all but the `key`, which the database gives."""

_STATUS = TypeAdapter(SessionStatus)
_READING_STATUS = TypeAdapter(ReadingStatus)


def new_session_row(session: NewSession, status: SessionStatus) -> Row:
    """Write a session that is being made, with an empty log."""
    parent = session.parent
    return {
        "id": session.id,
        "kind": LogKind.SESSION.value,
        "owner": session.owner,
        "title": session.title,
        "metadata": dump_metadata(session.metadata),
        "agent": session.agent,
        "parent_session": parent and parent.session,
        "parent_turn": parent and parent.turn,
        "parent_call": parent and parent.call,
        "created_at": format_time(session.created_at),
        **session_state(status),
        **progress_row(chain.EMPTY, session.created_at),
    }


def hidden_reading_row(hidden: str, reading: NewReading, status: ReadingStatus) -> Row:
    """Write a reading that is being made, under an id by which nobody asks for it."""
    return {
        "id": hidden,
        "kind": LogKind.HIDDEN.value,
        "owner": reading.owner,
        "title": "",
        "metadata": dump_metadata({}),
        "agent": None,
        "parent_session": None,
        "parent_turn": None,
        "parent_call": None,
        "created_at": format_time(reading.created_at),
        **reading_state(status),
        "state": HIDDEN_STATE,
        **progress_row(chain.EMPTY, reading.created_at),
    }


def session_state(status: SessionStatus) -> Row:
    """Write what a session's row tells without its log."""
    return {"state": status.state.value, "status": _STATUS.dump_json(status).decode()}


def reading_state(status: ReadingStatus) -> Row:
    """Write what a reading's row tells without its log."""
    return {"state": status.state.value, "status": _READING_STATUS.dump_json(status).decode()}


def progress_row(head: Head, now: datetime) -> Row:
    """Write where a log ends, and since when."""
    return {"updated_at": format_time(now), "head_seq": head.seq, "head_hash": head.hash}


def session_row(row: RowMapping) -> SessionRow:
    """Read a session's columns and, as `body`, its first record."""
    return SessionRow(
        id=SessionId(row["id"]),
        owner=OwnerId(row["owner"]),
        title=row["title"],
        metadata=json.loads(row["metadata"]),
        agent=row["agent"],
        parent=_parent(row),
        created_at=parse_time(row["created_at"]),
        updated_at=parse_time(row["updated_at"]),
        status=_STATUS.validate_json(row["status"]),
        head=Head(seq=row["head_seq"], hash=row["head_hash"]),
        created=row["body"],
    )


def reading_row(row: RowMapping) -> ReadingRow:
    """Read a reading's columns and, as `body`, its first record."""
    return ReadingRow(
        id=ReadingId(row["id"]),
        owner=OwnerId(row["owner"]),
        created_at=parse_time(row["created_at"]),
        updated_at=parse_time(row["updated_at"]),
        status=_READING_STATUS.validate_json(row["status"]),
        head=Head(seq=row["head_seq"], hash=row["head_hash"]),
        created=row["body"],
    )


def _parent(row: RowMapping) -> ParentLink | None:
    if row["parent_session"] is None:
        return None
    return ParentLink(
        session=SessionId(row["parent_session"]), turn=TurnId(row["parent_turn"]), call=row["parent_call"]
    )


def dump_metadata(metadata: JsonObject) -> str:
    """Write a session's metadata as JSON."""
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
