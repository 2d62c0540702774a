"""The writes of one group, made in one database transaction that the writer commits (S1, S3).

Every method refuses before it has changed anything, so a write that is refused leaves the others of its group
as they are. Appends are gathered and go to the database together.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, exists, insert, literal, select, update

from service.adapters.log_sql import families, queries
from service.adapters.log_sql.log_transaction import KnownLog, Placed
from service.adapters.log_sql.reading_writes import ReadingWrites
from service.adapters.log_sql.rows import dump_metadata, new_session_row, session_state
from service.adapters.log_sql.tables import LogKind, sessions, specs
from service.codec import format_time
from service.core import chain
from service.core.errors import StoreFailure, TooManySessions
from service.core.ids import OwnerId, SessionId
from service.core.json_types import JsonObject
from service.core.request_key import RequestKey
from service.core.session_status import SessionStatus
from service.ports import NewSession, RecordDraft, SessionRow, StoredRecord


class GroupTransaction(ReadingWrites):
    """All that the writer does: to sessions, to spec lists, and by inheritance to readings."""

    def create(
        self,
        session: NewSession,
        drafts: Sequence[RecordDraft],
        status: SessionStatus,
        request_key: RequestKey | None = None,
        at_most: int = 0,
    ) -> Sequence[StoredRecord]:
        """Make a session with its first records.

        Raises:
            TooManySessions: its owner would have more than `at_most`.
            StoreFailure: the id is taken, or the parent is not there.
        """
        self._refuse_taken(LogKind.SESSION, session.id)
        if session.parent is not None and self._log(LogKind.SESSION, session.parent.session) is None:
            raise StoreFailure(f"the parent session {session.parent.session} is not there")
        if 0 < at_most <= self._number_of(session.owner):
            raise TooManySessions(f"{session.owner} has {at_most} sessions already")
        key = self._insert_log(new_session_row(session, status))
        self._count(session.owner, 1)
        log = KnownLog(LogKind.SESSION, key, chain.EMPTY)
        self._keep_key(request_key, log, drafts, session.created_at)
        placed = self._extend(session.id, log, drafts, session_state(status), session.created_at)
        return _stored(session.id, drafts, placed)

    def append(
        self,
        session: SessionId,
        expected_seq: int,
        drafts: Sequence[RecordDraft],
        status: SessionStatus,
        now: datetime,
        request_key: RequestKey | None = None,
    ) -> Sequence[StoredRecord]:
        """Append records to a session's log.

        Raises:
            SequenceConflict: its last `seq` is another, or it is gone.
        """
        log = self._log_at(LogKind.SESSION, session, expected_seq)
        self._keep_key(request_key, log, drafts, now)
        placed = self._extend(session, log, drafts, session_state(status), now)
        return _stored(session, drafts, placed)

    def update(
        self, session: SessionId, *, title: str | None, metadata: JsonObject | None, now: datetime
    ) -> SessionRow | None:
        """Change a session's title and metadata; None leaves a value as it is."""
        self.flush()
        changes: dict[str, Any] = {"updated_at": format_time(now)}
        if title is not None:
            changes["title"] = title
        if metadata is not None:
            changes["metadata"] = dump_metadata(metadata)
        is_session = sessions.c.kind == LogKind.SESSION.value
        self._connection.execute(update(sessions).where(sessions.c.id == session, is_session).values(changes))
        return queries.session(self._connection, session)

    def delete(self, session: SessionId) -> Sequence[SessionId]:
        """Remove a session; its records, their full results and its children go with it by their foreign keys."""
        self.flush()
        removed = families.family(self._connection, session)
        if removed:
            for owner in queries.owners_of(self._connection, removed):
                self._count(owner, -1)
            self._connection.execute(delete(sessions).where(sessions.c.id == session))
            self._forget_logs(removed)
        return removed

    def prune(self, before: datetime, limit: int) -> Sequence[SessionId]:
        """Remove sessions that are idle, were last changed before a moment and have no children; give their ids."""
        self.flush()
        pruned = queries.idle_leaves(self._connection, before, limit)
        for session in pruned:
            self.delete(session)
        return pruned

    def _number_of(self, owner: OwnerId) -> int:
        """Count an owner's sessions, those of this transaction among them; the first time only by asking."""
        number = self._known_number(owner)
        if number is None:
            number = self.owned[owner] = queries.count_sessions(self._connection, owner)
        return number

    def _count(self, owner: OwnerId, more: int) -> None:
        number = self._known_number(owner)
        if number is not None:
            self.owned[owner] = number + more

    def _known_number(self, owner: OwnerId) -> int | None:
        found = self.owned.get(owner)
        return self._known.owned.get(owner) if found is None else found

    def put_specs(self, specs_hash: str, body: bytes) -> None:
        """Keep a spec list, if it isn't kept already."""
        row = select(literal(specs_hash), literal(body))
        absent = ~exists().where(specs.c.hash == specs_hash)
        self._connection.execute(insert(specs).from_select(["hash", "body"], row.where(absent)))


def _stored(session: SessionId, drafts: Sequence[RecordDraft], placed: Sequence[Placed]) -> Sequence[StoredRecord]:
    return [
        StoredRecord(
            session=session,
            turn=draft.turn,
            type=draft.type,
            seq=at.seq,
            pos=at.pos,
            body=draft.body,
            hash=at.hash,
        )
        for draft, at in zip(drafts, placed, strict=True)
    ]
