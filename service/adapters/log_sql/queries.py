"""What is asked of the tables; each is one statement, so each sees one state of the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, and_, bindparam, exists, func, or_, select

from service.adapters.log_sql.rows import session_row
from service.adapters.log_sql.tables import (
    BUSY,
    LogKind,
    full_results,
    lost_places,
    records,
    request_keys,
    sessions,
    specs,
    store,
)
from service.codec import format_time
from service.core.ids import OwnerId, SessionId, TurnId
from service.core.request_key import KeyedAnswer, RequestKey
from service.core.session_status import SessionState
from service.ports import SessionRow, StoredRecord
from service.ports.cursor import Cursor
from service.ports.reading_log import StoredReadingRecord

_NO_LIMIT = 2**63 - 1

R = TypeVar("R", StoredRecord, StoredReadingRecord)

# Made once: building a statement costs more than running it.
_OF_SESSION = sessions.c.kind == LogKind.SESSION.value
_KEY = select(sessions.c.key).where(sessions.c.id == bindparam("session"), _OF_SESSION).scalar_subquery()
_RECORDS = select(records.c.turn, records.c.type, records.c.seq, records.c.pos, records.c.body, records.c.hash).where(
    records.c.session_key == _KEY
)
_AFTER_SEQ = records.c.seq > bindparam("after_seq")
_AFTER_POS = records.c.pos > bindparam("after_pos")
_BY_SEQ = _RECORDS.where(_AFTER_SEQ).order_by(records.c.seq).limit(bindparam("limit"))
_BY_POS = _RECORDS.where(_AFTER_POS, _AFTER_SEQ).order_by(records.c.pos).limit(bindparam("limit"))
_BY_TURN = (
    _RECORDS.where(records.c.turn == bindparam("turn"), _AFTER_SEQ, _AFTER_POS)
    .order_by(records.c.seq)
    .limit(bindparam("limit"))
)
_CHILDREN = sessions.alias()
_OF_ALL = (
    select(sessions.c.id, records.c.turn, records.c.type, records.c.seq, records.c.pos, records.c.body, records.c.hash)
    .join(sessions, sessions.c.key == records.c.session_key)
    .where(sessions.c.owner == bindparam("owner"), _OF_SESSION, _AFTER_POS)
    .order_by(records.c.pos)
    .limit(bindparam("limit"))
)
_FULL_TEXT = (
    select(full_results.c.body).join(records).where(records.c.session_key == _KEY, records.c.seq == bindparam("seq"))
)
ROWS = select(sessions, records.c.body).join(records, (records.c.session_key == sessions.c.key) & (records.c.seq == 1))
"""The rows of logs of each kind, with their first records."""
_SESSIONS = ROWS.where(_OF_SESSION)
_SESSION = _SESSIONS.where(sessions.c.id == bindparam("session"))
_BUSY_SESSIONS = select(sessions.c.id).where(_OF_SESSION, BUSY).order_by(sessions.c.id)
# The owner's name is put together with nothing to keep SQLite from the index of all sessions of the owner.
_AWAITING = _SESSIONS.where(
    BUSY, sessions.c.state == SessionState.AWAITING_APPROVAL.value, sessions.c.owner + "" == bindparam("owner")
).order_by(sessions.c.id)
_IDLE_FOR_LONG = and_(
    _OF_SESSION, sessions.c.state == SessionState.IDLE.value, sessions.c.updated_at < bindparam("moment")
)
# A child goes before its parent, and one that stays keeps its parent.
_IDLE_LEAVES = (
    select(sessions.c.id)
    .where(_IDLE_FOR_LONG, ~exists().where(_CHILDREN.c.parent_session == sessions.c.id))
    .order_by(sessions.c.id)
    .limit(bindparam("limit"))
)
_PARENTS_OF_STAYING = (
    select(sessions.c.parent_session.label("id"))
    .where(sessions.c.parent_session.is_not(None), ~_IDLE_FOR_LONG)
    .cte("staying_parents", recursive=True)
)
_STAYING_PARENTS = _PARENTS_OF_STAYING.union(
    select(_CHILDREN.c.parent_session)
    .join(_PARENTS_OF_STAYING, _CHILDREN.c.id == _PARENTS_OF_STAYING.c.id)
    .where(_CHILDREN.c.parent_session.is_not(None))
)
_IDLE_FAMILIES = (
    select(sessions.c.id)
    .where(_IDLE_FOR_LONG, sessions.c.id.not_in(select(_STAYING_PARENTS.c.id)))
    .order_by(sessions.c.id)
)
_KEYED = (
    select(request_keys.c.body, sessions.c.id, request_keys.c.turn)
    .join(sessions, sessions.c.key == request_keys.c.session_key)
    .where(_OF_SESSION, *(request_keys.c[name] == bindparam(name) for name in ("owner", "method", "path", "key")))
)
_COUNT = select(func.count()).where(sessions.c.owner == bindparam("owner"), _OF_SESSION)
_OWNERS = select(sessions.c.owner).where(sessions.c.id.in_(bindparam("sessions", expanding=True)), _OF_SESSION)
_SPECS = select(specs.c.body).where(specs.c.hash == bindparam("hash"))
_IS_LOST = select(lost_places.c.after_pos).where(
    lost_places.c.after_pos < bindparam("pos"), lost_places.c.up_to_pos >= bindparam("pos")
)
_LAST_POS = select(func.coalesce(select(func.max(records.c.pos)).scalar_subquery(), 0), store.c.pos_floor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which records are wanted: those behind a place, no more than so many, no more than it takes for `max_bytes`."""

    after_seq: int = 0
    after_pos: int = 0
    limit: int | None = None
    max_bytes: int | None = None

    @property
    def bound(self) -> int:
        """The greatest number of records, as SQL takes it."""
        return _NO_LIMIT if self.limit is None else self.limit

    def filled(self, found: Iterable[R]) -> list[R]:
        """Take records until the window is full."""
        taken: list[R] = []
        left = self.max_bytes
        for record in found:
            taken.append(record)
            if left is not None:
                left -= len(record.body)
                if left <= 0:
                    break
        return taken


def read(connection: Connection, session: SessionId, window: Window, *, turn: TurnId | None) -> Sequence[StoredRecord]:
    """Read a window of a session's records through the index that fits it."""
    wanted: dict[str, Any] = {"after_seq": window.after_seq, "limit": window.bound}
    if turn is not None:
        found = _records(connection, _BY_TURN, session, turn=turn, after_pos=window.after_pos, **wanted)
    elif window.after_pos > 0:
        found = _records(connection, _BY_POS, session, after_pos=window.after_pos, **wanted)
    else:
        found = _records(connection, _BY_SEQ, session, **wanted)
    return window.filled(found)


def read_all(connection: Connection, owner: OwnerId, window: Window) -> Sequence[StoredRecord]:
    """Read a window of the records of all sessions of an owner."""
    wanted = {"owner": owner, "after_pos": window.after_pos, "limit": window.bound}
    return window.filled(
        StoredRecord(session=SessionId(session), turn=turn, type=record_type, seq=seq, pos=pos, body=body, hash=hash_)
        for session, turn, record_type, seq, pos, body, hash_ in connection.execute(_OF_ALL, wanted)
    )


def _records(
    connection: Connection, statement: Select[*tuple[Any, ...]], session: SessionId, **wanted: Any
) -> Iterator[StoredRecord]:
    for turn, record_type, seq, pos, body, hash_ in connection.execute(statement, {"session": session, **wanted}):
        yield StoredRecord(session=session, turn=turn, type=record_type, seq=seq, pos=pos, body=body, hash=hash_)


def full_text(connection: Connection, session: SessionId, seq: int) -> bytes | None:
    """Read the whole text of a result that was cut."""
    return connection.execute(_FULL_TEXT, {"session": session, "seq": seq}).scalar_one_or_none()


def last_pos(connection: Connection) -> int:
    """Give the greatest `pos` ever given, also when its record is gone."""
    greatest, floor = connection.execute(_LAST_POS).one()
    return max(greatest, floor)


def cursor(connection: Connection, pos: int) -> Cursor:
    """Say where a reader stands that has seen all up to `pos`: behind what is there, or where a restore has cut."""
    last = last_pos(connection)
    is_lost = pos > last or connection.execute(_IS_LOST, {"pos": pos}).first() is not None
    return Cursor(last_pos=last, is_lost=is_lost)


def session(connection: Connection, session: SessionId) -> SessionRow | None:
    """Read one session."""
    row = connection.execute(_SESSION, {"session": session}).mappings().one_or_none()
    return None if row is None else session_row(row)


def list_sessions(
    connection: Connection, *, owner: OwnerId | None, limit: int, before: SessionId | None, search: str
) -> Sequence[SessionRow]:
    """List sessions, newest first: ids sort by creation; those with `search` in their title, id or agent."""
    statement = _SESSIONS.order_by(sessions.c.id.desc()).limit(limit)
    if owner is not None:
        statement = statement.where(sessions.c.owner == owner)
    if before is not None:
        statement = statement.where(sessions.c.id < before)
    if search:
        searched = (sessions.c.title, sessions.c.id, sessions.c.agent)
        statement = statement.where(or_(*(column.icontains(search, autoescape=True) for column in searched)))
    return [session_row(row) for row in connection.execute(statement).mappings()]


def busy_sessions(connection: Connection) -> Sequence[SessionId]:
    """List the sessions that are not idle, oldest first."""
    return [SessionId(found) for (found,) in connection.execute(_BUSY_SESSIONS)]


def count_sessions(connection: Connection, owner: OwnerId) -> int:
    """Count the sessions of an owner, in an index alone."""
    return connection.execute(_COUNT, {"owner": owner}).scalar_one()


def owners_of(connection: Connection, ids: Sequence[SessionId]) -> Sequence[OwnerId]:
    """Say for each of these sessions, in no order, whose it is."""
    return [OwnerId(owner) for (owner,) in connection.execute(_OWNERS, {"sessions": list(ids)})]


def awaiting(connection: Connection, owner: OwnerId) -> Sequence[SessionRow]:
    """List the sessions of an owner that wait for a person, oldest first."""
    return [session_row(row) for row in connection.execute(_AWAITING, {"owner": owner}).mappings()]


def idle_leaves(connection: Connection, before: datetime, limit: int) -> Sequence[SessionId]:
    """List sessions that are idle, were last changed before a moment and have no children, oldest first."""
    wanted = {"moment": format_time(before), "limit": limit}
    return [SessionId(found) for (found,) in connection.execute(_IDLE_LEAVES, wanted)]


def idle_families(connection: Connection, before: datetime) -> Iterator[SessionId]:
    """Give all sessions that asking for `idle_leaves` again and again would remove, oldest first."""
    rows = connection.execute(_IDLE_FAMILIES, {"moment": format_time(before)}, execution_options={"yield_per": 500})
    return (SessionId(found) for (found,) in rows)


def keyed(connection: Connection, key: RequestKey) -> KeyedAnswer | None:
    """Read what was created under a key."""
    wanted = {"owner": key.owner, "method": key.method, "path": key.path, "key": key.key}
    row = connection.execute(_KEYED, wanted).one_or_none()
    if row is None:
        return None
    body, session, turn = row
    return KeyedAnswer(body=body, session=SessionId(session), turn=None if turn is None else TurnId(turn))


def spec_list(connection: Connection, specs_hash: str) -> bytes | None:
    """Read a spec list."""
    return connection.execute(_SPECS, {"hash": specs_hash}).scalar_one_or_none()
