"""A store as whoever checks it sees it: read as it is on disk, beside the service that writes it or without one (S3).

Values are taken as SQLite gives them: a file that somebody else changed may hold anything anywhere.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, cast

from sqlalchemy import Connection, Engine, bindparam, make_url, select, type_coerce
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.types import NullType

from service.adapters.log_sql import queries
from service.adapters.log_sql.failures import store_failures
from service.adapters.log_sql.migrate import schema_of
from service.adapters.log_sql.sqlite_reading import is_damage, open_sqlite_for_reading
from service.adapters.log_sql.sqlite_store import BUSY_TIMEOUT_MS
from service.adapters.log_sql.tables import full_results, records, sessions
from service.core.chain import EMPTY, Head
from service.core.errors import StoreFailure
from service.core.ids import SessionId
from service.core.kept_heads import NOTHING_KEPT, KeptHeads
from service.core.verification import Fault, FaultKind, KeptRecord, Verdict, verify_log

_PAGE = 500
"""Sessions whose ids are read at once."""
_FETCHED = 16
"""Records that are in memory at once: a body may have megabytes."""

_RAW = NullType()
_SESSION_IDS = (
    select(sessions.c.id).where(sessions.c.id > bindparam("after")).order_by(sessions.c.id).limit(bindparam("limit"))
)
_SESSION_HEAD = select(
    sessions.c.key, type_coerce(sessions.c.head_seq, _RAW), type_coerce(sessions.c.head_hash, _RAW)
).where(sessions.c.id == bindparam("session"))
_LOG = (
    select(
        records.c.turn,
        records.c.type,
        records.c.seq,
        records.c.pos,
        type_coerce(records.c.body, _RAW),
        type_coerce(records.c.hash, _RAW),
        type_coerce(full_results.c.body, _RAW),
    )
    .outerjoin(full_results, full_results.c.pos == records.c.pos)
    .where(records.c.session_key == bindparam("key"))
    .order_by(records.c.seq)
)
_KINDS: Sequence[tuple[type, ...]] = (
    (str, type(None)),
    (str,),
    (int,),
    (int,),
    (bytes,),
    (bytes,),
    (bytes, type(None)),
)
_HOMELESS_RECORDS = (
    select(records.c.pos)
    .outerjoin(sessions, sessions.c.key == records.c.session_key)
    .where(sessions.c.key.is_(None))
    .order_by(records.c.pos)
    .limit(1)
)
_HOMELESS_TEXTS = (
    select(full_results.c.pos)
    .outerjoin(records, records.c.pos == full_results.c.pos)
    .where(records.c.pos.is_(None))
    .order_by(full_results.c.pos)
    .limit(1)
)
_HOMELESS = {"a record of no session": _HOMELESS_RECORDS, "a full text of no record": _HOMELESS_TEXTS}
_UNREADABLE = "it can't be read: the database file is damaged there"
_ODD = "it holds a value of another kind than the service writes"


@contextmanager
def open_audit(database_url: str, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> Generator[SqlAudit]:
    """Open the store at an SQLAlchemy URL (`sqlite:///FILE`) to be read by this thread.

    Raises:
        StoreFailure: it is not there, not ours, of a newer version, or can't be read.
    """
    with store_failures("the store's address can't be read"):
        url = make_url(database_url)
    if url.get_backend_name() != "sqlite":
        raise StoreFailure(f"no store for {url.get_backend_name()} databases; use sqlite:///FILE")
    with open_sqlite_for_reading(url.database, busy_timeout_ms=busy_timeout_ms) as engine:
        with store_failures(f"the store {url.database} can't be read"), engine.begin() as connection:
            if schema_of(connection, str(url.database)) is None:
                raise StoreFailure(f"{url.database} is not a Turnkeeper database")
        yield SqlAudit(engine)


class SqlAudit:
    """Looks at a store; made by `open_audit`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def sessions(self) -> Iterator[SessionId]:
        """Name all sessions, oldest first, also those that come while this goes on.

        Raises:
            StoreFailure: the list can't be read.
        """
        last = SessionId("")
        while page := self._page_after(last):
            yield from page
            last = page[-1]

    def _page_after(self, last: SessionId) -> Sequence[SessionId]:
        with self._looking() as connection:
            return [SessionId(id_) for id_ in connection.scalars(_SESSION_IDS, {"after": last, "limit": _PAGE})]

    def verify(self, session: SessionId, kept: KeptHeads = NOTHING_KEPT) -> Verdict | None:
        """Check one session's log as it is at this moment; None when there is no such session.

        Raises:
            StoreFailure: it can't be read now, which says nothing of the log.
        """
        with self._looking() as connection:
            try:
                return _verify(connection, session, kept)
            except SQLAlchemyError as error:
                if not is_damage(error):
                    raise
                return _damaged(1, _UNREADABLE)

    def homeless(self) -> Sequence[str]:
        """Say what is kept that belongs to no session: a clause each for records and for full texts.

        Raises:
            StoreFailure: it can't be read.
        """
        with self._looking() as connection:
            found = {what: connection.scalars(statement).first() for what, statement in _HOMELESS.items()}
        return [f"{what} (pos {pos})" for what, pos in found.items() if pos is not None]

    def idle_before(self, moment: datetime) -> Iterator[SessionId]:
        """Name the sessions that pruning by this moment would remove (S7)."""
        with self._looking() as connection:
            yield from queries.idle_families(connection, moment)

    @contextmanager
    def _looking(self) -> Generator[Connection]:
        with store_failures("the store can't be read"), self._engine.begin() as connection:
            yield connection


class _Damage(Exception):
    """A record can't be read, or a column holds what the service never writes: at which `seq`, and what."""

    def __init__(self, seq: int, what: str) -> None:
        super().__init__(what)
        self.seq = seq
        self.what = what


def _verify(connection: Connection, session: SessionId, kept: KeptHeads) -> Verdict | None:
    row = connection.execute(_SESSION_HEAD, {"session": session}).one_or_none()
    if row is None:
        return None
    key, head_seq, head_hash = cast("tuple[Any, ...]", tuple(row))
    if not isinstance(head_seq, int) or not isinstance(head_hash, bytes):
        return _damaged(1, f"the session's head can't be read: {_ODD}")
    try:
        return verify_log(
            session,
            Head(seq=head_seq, hash=head_hash),
            _records(connection, key),
            specs=lambda name: queries.spec_list(connection, name),
            kept=kept,
        )
    except _Damage as damage:
        return _damaged(damage.seq, damage.what)


def _records(connection: Connection, key: int) -> Iterator[KeptRecord]:
    seq: int = 0
    try:
        for row in connection.execute(_LOG, {"key": key}, execution_options={"yield_per": _FETCHED}):
            values = cast("tuple[Any, ...]", tuple(row))
            if not all(isinstance(value, kinds) for value, kinds in zip(values, _KINDS, strict=True)):
                raise _Damage(seq + 1, _ODD)
            turn, record_type, seq, pos, body, hash_, full = values
            yield KeptRecord(turn=turn, type=record_type, seq=seq, pos=pos, body=body, hash=hash_, full=full)
    except SQLAlchemyError as error:
        if not is_damage(error):
            raise
        raise _Damage(seq + 1, _UNREADABLE) from error


def _damaged(seq: int, what: str) -> Verdict:
    return Verdict(head=EMPTY, fault=Fault(seq=seq, kind=FaultKind.DAMAGE, what=what))
