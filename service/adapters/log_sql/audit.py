"""A store as whoever checks it sees it: read as it is on disk, beside the service that writes it or without one (S3).

Values are taken as SQLite gives them: a file that somebody else changed may hold anything anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sqlalchemy import Connection, Engine, bindparam, make_url, select, type_coerce
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.types import NullType

from service.adapters.log_sql import queries, reading_queries
from service.adapters.log_sql.failures import store_failures
from service.adapters.log_sql.migrate import refuse_unreadable
from service.adapters.log_sql.reading_bodies import bodies_of
from service.adapters.log_sql.sqlite_reading import is_damage, open_sqlite_for_reading
from service.adapters.log_sql.sqlite_store import BUSY_TIMEOUT_MS
from service.adapters.log_sql.tables import LogKind, document_texts, full_results, records, sessions
from service.core.approval_trail import NO_SIGNATURES_WANTED, SignaturesWanted
from service.core.chain import EMPTY, Head
from service.core.errors import StoreFailure
from service.core.ids import ReadingId, SessionId
from service.core.kept_heads import NOTHING_KEPT, KeptHeads
from service.core.reading.trail import ReadingTrail
from service.core.verification import (
    Fault,
    FaultKind,
    KeptRecord,
    Verdict,
    verify_log,
    verify_reading_log,
)

_PAGE = 500
"""Sessions whose ids are read at once."""
_FETCHED = 16
"""Records that are in memory at once: a body may have megabytes."""

_RAW = NullType()
_OF_KIND = sessions.c.kind == bindparam("kind")
_IDS = (
    select(sessions.c.id)
    .where(sessions.c.id > bindparam("after"), _OF_KIND)
    .order_by(sessions.c.id)
    .limit(bindparam("limit"))
)
_HEAD = select(sessions.c.key, type_coerce(sessions.c.head_seq, _RAW), type_coerce(sessions.c.head_hash, _RAW)).where(
    sessions.c.id == bindparam("log"), _OF_KIND
)
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
_HAVE_A_LOG = sessions.c.kind.in_([LogKind.SESSION.value, LogKind.READING.value])
_HOMELESS_RECORDS = (
    select(records.c.pos)
    .outerjoin(sessions, (sessions.c.key == records.c.session_key) & _HAVE_A_LOG)
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
# The texts of a hidden reading have their place: the service writes or removes them, or will at its next start.
_HAS_TEXTS = sessions.c.kind.in_([LogKind.READING.value, LogKind.HIDDEN.value])
_HOMELESS_DOCUMENTS = (
    select(document_texts.c.document)
    .outerjoin(sessions, (sessions.c.key == document_texts.c.reading_key) & _HAS_TEXTS)
    .where(sessions.c.key.is_(None))
    .order_by(document_texts.c.document)
    .limit(1)
)
_OF_NO_KIND = select(sessions.c.key).where(sessions.c.kind.not_in(list(LogKind))).order_by(sessions.c.key).limit(1)
_HOMELESS = {
    "a record of no session (pos {})": _HOMELESS_RECORDS,
    "a full text of no record (pos {})": _HOMELESS_TEXTS,
    "a document's text of no reading (document {})": _HOMELESS_DOCUMENTS,
    "a log that is neither a session's nor a reading's (key {})": _OF_NO_KIND,
}
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
    with open_audit_of(url.database, busy_timeout_ms=busy_timeout_ms) as audit:
        yield audit


@contextmanager
def open_audit_of(database: str | None, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> Generator[SqlAudit]:
    """Open the store in a file to be read by this thread.

    Raises:
        StoreFailure: it is not there, not ours, of a version that can't be read as it is, or can't be read.
    """
    with open_sqlite_for_reading(database, busy_timeout_ms=busy_timeout_ms) as engine:
        with store_failures(f"the store {database} can't be read"), engine.begin() as connection:
            refuse_unreadable(connection, str(database))
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
        return map(SessionId, self._ids(LogKind.SESSION))

    def readings(self) -> Iterator[ReadingId]:
        """Name all readings, oldest first, also those that come while this goes on.

        Raises:
            StoreFailure: the list can't be read.
        """
        return map(ReadingId, self._ids(LogKind.READING))

    def _ids(self, kind: LogKind) -> Iterator[str]:
        last = ""
        while page := self._page_after(kind, last):
            yield from page
            last = page[-1]

    def _page_after(self, kind: LogKind, last: str) -> Sequence[str]:
        with self._looking() as connection:
            return connection.scalars(_IDS, {"kind": kind.value, "after": last, "limit": _PAGE}).all()

    def verify(
        self,
        session: SessionId,
        kept: KeptHeads = NOTHING_KEPT,
        signatures: SignaturesWanted = NO_SIGNATURES_WANTED,
    ) -> Verdict | None:
        """Check one session's log as it is at this moment; None when there is no such session.

        Raises:
            StoreFailure: it can't be read now, which says nothing of the log.
        """

        def check(found: _FoundLog) -> Verdict:
            return verify_log(session, found.head, found.records(), specs=found.specs, kept=kept, signatures=signatures)

        return self._verdict(LogKind.SESSION, session, check)

    def verify_reading(self, reading: ReadingId, kept: KeptHeads = NOTHING_KEPT) -> Verdict | None:
        """Check one reading's log and its documents as they are at this moment; None when there is no such reading.

        Raises:
            StoreFailure: it can't be read now, which says nothing of the log.
        """

        def check(found: _FoundLog) -> Verdict:
            bodies = bodies_of(ReadingTrail(found.text))
            return verify_reading_log(reading, found.head, found.records(), text=found.text, bodies=bodies, kept=kept)

        return self._verdict(LogKind.READING, reading, check)

    def _verdict(self, kind: LogKind, log: str, check: Callable[[_FoundLog], Verdict]) -> Verdict | None:
        with self._looking() as connection:
            try:
                found = _found(connection, kind, log)
                return None if found is None else check(found)
            except _Damage as damage:
                return _damaged(damage.seq, damage.what)
            except SQLAlchemyError as error:
                if not is_damage(error):
                    raise
                return _damaged(1, _UNREADABLE)

    def last_pos(self) -> int:
        """Give the greatest `pos` ever given, 0 when there was none.

        Raises:
            StoreFailure: it can't be read.
        """
        with self._looking() as connection:
            return queries.last_pos(connection)

    def homeless(self) -> Sequence[str]:
        """Say what is kept that belongs to no session and no reading, in a clause for each kind of thing.

        Raises:
            StoreFailure: it can't be read.
        """
        with self._looking() as connection:
            found = {what: connection.scalars(statement).first() for what, statement in _HOMELESS.items()}
        return [what.format(place) for what, place in found.items() if place is not None]

    def idle_before(self, moment: datetime) -> Iterator[SessionId]:
        """Name the sessions that pruning by this moment would remove (S7)."""
        with self._looking() as connection:
            yield from queries.idle_families(connection, moment)

    def finished_before(self, moment: datetime) -> Iterator[ReadingId]:
        """Name the readings that pruning by this moment would remove (S7)."""
        with self._looking() as connection:
            yield from reading_queries.all_finished_before(connection, moment)

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


@dataclass(frozen=True, slots=True)
class _FoundLog:
    """A log as it is at one moment."""

    connection: Connection
    key: int
    head: Head

    def specs(self, name: str) -> bytes | None:
        """Read a spec list."""
        return queries.spec_list(self.connection, name)

    def text(self, document: int, start: int, end: int) -> bytes | None:
        """Read a range of a document's text."""
        try:
            return reading_queries.text_of(self.connection, self.key, document, start, end)
        except TypeError as error:
            raise _Damage(1, f"a document's text can't be read: {_ODD}") from error

    def records(self) -> Iterator[KeptRecord]:
        """Read the records one by one.

        Raises:
            _Damage: one of them can't be read.
        """
        seq: int = 0
        options = {"yield_per": _FETCHED}
        try:
            for row in self.connection.execute(_LOG, {"key": self.key}, execution_options=options):
                values = cast("tuple[Any, ...]", tuple(row))
                if not all(isinstance(value, kinds) for value, kinds in zip(values, _KINDS, strict=True)):
                    raise _Damage(seq + 1, _ODD)
                turn, record_type, seq, pos, body, hash_, full = values
                yield KeptRecord(turn=turn, type=record_type, seq=seq, pos=pos, body=body, hash=hash_, full=full)
        except SQLAlchemyError as error:
            if not is_damage(error):
                raise
            raise _Damage(seq + 1, _UNREADABLE) from error


def _found(connection: Connection, kind: LogKind, log: str) -> _FoundLog | None:
    row = connection.execute(_HEAD, {"kind": kind.value, "log": log}).one_or_none()
    if row is None:
        return None
    key, head_seq, head_hash = cast("tuple[Any, ...]", tuple(row))
    if not isinstance(head_seq, int) or not isinstance(head_hash, bytes):
        raise _Damage(1, f"the {kind}'s head can't be read: {_ODD}")
    return _FoundLog(connection, key, Head(seq=head_seq, hash=head_hash))


def _damaged(seq: int, what: str) -> Verdict:
    return Verdict(head=EMPTY, fault=Fault(seq=seq, kind=FaultKind.DAMAGE, what=what))
