"""Rows as values and values as rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import RowMapping

from service.codec import format_time, parse_time
from service.core.chain import Head
from service.core.ids import OwnerId, SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.records import ParentLink
from service.core.session_status import SessionStatus
from service.ports import NewSession, SessionRow

Row = Mapping[str, Any]
"""A row to be written, by its columns' names."""

_STATUS = TypeAdapter(SessionStatus)


def new_session_row(session: NewSession, status: SessionStatus, head: Head) -> Row:
    """Write a session that is being made."""
    parent = session.parent
    return {
        "id": session.id,
        "owner": session.owner,
        "title": session.title,
        "metadata": dump_metadata(session.metadata),
        "agent": session.agent,
        "parent_session": parent and parent.session,
        "parent_turn": parent and parent.turn,
        "parent_call": parent and parent.call,
        "created_at": format_time(session.created_at),
        **progress_row(status, head, session.created_at),
    }


def progress_row(status: SessionStatus, head: Head, now: datetime) -> Row:
    """Write what an append changes of a session."""
    return {
        "updated_at": format_time(now),
        "state": status.state.value,
        "status": _STATUS.dump_json(status).decode(),
        "head_seq": head.seq,
        "head_hash": head.hash,
    }


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


def _parent(row: RowMapping) -> ParentLink | None:
    if row["parent_session"] is None:
        return None
    return ParentLink(
        session=SessionId(row["parent_session"]), turn=TurnId(row["parent_turn"]), call=row["parent_call"]
    )


def dump_metadata(metadata: JsonObject) -> str:
    """Write a session's metadata as JSON."""
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
