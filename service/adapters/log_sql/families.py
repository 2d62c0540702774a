"""What is asked of a session and its children at every depth, as one (G2, H6); each is one statement.

The places of the records that are wanted are found first, in indexes alone: what is sorted there is a list of
numbers, and no more bodies are read than are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, bindparam, literal, or_, select

from service.adapters.log_sql.queries import Window
from service.adapters.log_sql.tables import LogKind, records, sessions
from service.core.ids import SessionId, TurnId
from service.ports import StoredRecord

_CHILDREN = sessions.alias("children")
_SESSION = select(sessions.c.key, sessions.c.id).where(
    sessions.c.id == bindparam("session"), sessions.c.kind == LogKind.SESSION.value
)
_SELF = _SESSION.cte("family", recursive=True)
_FAMILY = _SELF.union_all(select(_CHILDREN.c.key, _CHILDREN.c.id).join(_SELF, _CHILDREN.c.parent_session == _SELF.c.id))
_IDS = select(_FAMILY.c.id).order_by(_FAMILY.c.id)

# A child's log begins with its session_created and, as seq 2, the first record of the turn that was handed over.
_FIRST_OF_TURN = records.alias("first_of_turn")
_CHILDS_TURN = (
    select(_FIRST_OF_TURN.c.turn)
    .where(_FIRST_OF_TURN.c.session_key == _CHILDREN.c.key, _FIRST_OF_TURN.c.seq == 2)
    .scalar_subquery()
)
_TURN = _SESSION.add_columns(bindparam("turn", type_=records.c.turn.type).label("turn")).cte("turns", recursive=True)
_TURNS = _TURN.union_all(
    select(_CHILDREN.c.key, _CHILDREN.c.id, _CHILDS_TURN).join(
        _TURN, (_CHILDREN.c.parent_session == _TURN.c.id) & (_CHILDREN.c.parent_turn == _TURN.c.turn)
    )
)

# In the order of `pos` itself SQLite would go through the records of all sessions, to be spared the sorting.
_IN_ORDER = records.c.pos + literal(0)
_OF_FAMILY = (
    select(records.c.pos)
    .join(_FAMILY, records.c.session_key == _FAMILY.c.key)
    .where(records.c.pos > bindparam("after_pos"))
    .order_by(_IN_ORDER)
    .limit(bindparam("limit"))
)
_OF_TURNS = (
    select(records.c.pos)
    .join(_TURNS, (records.c.session_key == _TURNS.c.key) & (records.c.turn == _TURNS.c.turn))
    .where(
        # So that it goes through the records of the turns, and not through all that the sessions have since then.
        bindparam("after_pos") < _IN_ORDER,
        or_(
            _TURNS.c.id == bindparam("session"),
            records.c.type.in_(bindparam("types_below", expanding=True)),
        ),
    )
    .order_by(_IN_ORDER)
    .limit(bindparam("limit"))
)


def _at(places: Select[tuple[int]]) -> Select[*tuple[Any, ...]]:
    return (
        select(
            sessions.c.id, records.c.turn, records.c.type, records.c.seq, records.c.pos, records.c.body, records.c.hash
        )
        .join(sessions, sessions.c.key == records.c.session_key)
        .where(records.c.pos.in_(places))
        .order_by(records.c.pos)
    )


_RECORDS_OF_FAMILY = _at(_OF_FAMILY)
_RECORDS_OF_TURNS = _at(_OF_TURNS)


def family(connection: Connection, session: SessionId) -> Sequence[SessionId]:
    """List a session and all below it, oldest first; nothing when it is not there."""
    return [SessionId(found) for (found,) in connection.execute(_IDS, {"session": session})]


def read_family(connection: Connection, session: SessionId, window: Window) -> Sequence[StoredRecord]:
    """Read a window of the records of a session and all below it."""
    return _read(connection, _RECORDS_OF_FAMILY, window, session=session)


def read_turn_family(
    connection: Connection, session: SessionId, turn: TurnId, types_below: Sequence[str], window: Window
) -> Sequence[StoredRecord]:
    """Read a window of a turn's records and of those, of some types, of the turns that it was handed over to."""
    return _read(connection, _RECORDS_OF_TURNS, window, session=session, turn=turn, types_below=list(types_below))


def _read(
    connection: Connection, statement: Select[*tuple[Any, ...]], window: Window, **wanted: Any
) -> Sequence[StoredRecord]:
    wanted |= {"after_pos": window.after_pos, "limit": window.bound}
    return window.filled(
        StoredRecord(session=SessionId(session), turn=turn, type=record_type, seq=seq, pos=pos, body=body, hash=hash_)
        for session, turn, record_type, seq, pos, body, hash_ in connection.execute(statement, wanted)
    )
