"""The writes of one group, made in one database transaction that the writer commits (S1, S3).

Every method refuses before it has changed anything, so a write that is refused leaves the others of its group
as they are. Appends are gathered and go to the database together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from sqlalchemy import Connection, Dialect, bindparam, delete, exists, insert, literal, select, update

from service.adapters.log_sql import queries
from service.adapters.log_sql.prepared import Prepared
from service.adapters.log_sql.rows import Row, dump_metadata, new_session_row, progress_row
from service.adapters.log_sql.tables import full_results, records, request_keys, sessions, specs, store
from service.codec import format_time
from service.core import chain
from service.core.chain import Head
from service.core.errors import SequenceConflict, StoreFailure
from service.core.ids import SessionId
from service.core.json_types import JsonObject
from service.core.request_key import RequestKey
from service.core.session_status import SessionStatus
from service.ports import NewSession, RecordDraft, SessionRow, StoredRecord

_HEAD = select(sessions.c.key, sessions.c.head_seq, sessions.c.head_hash).where(sessions.c.id == bindparam("session"))
_PROGRESS = (
    update(sessions)
    .where(sessions.c.key == bindparam("of"))
    .values({name: bindparam(name) for name in ("updated_at", "state", "status", "head_seq", "head_hash")})
)


class HotStatements:
    """What an append runs, compiled for one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self.head = Prepared(_HEAD, dialect)
        self.records = Prepared(insert(records), dialect)
        self.full_results = Prepared(insert(full_results), dialect)
        self.progress = Prepared(_PROGRESS, dialect)


@dataclass(slots=True)
class Known:
    """What the writer knows of committed data without asking; true because nobody else writes (S2)."""

    last_pos: int
    heads: dict[SessionId, tuple[int, Head]] = field(default_factory=dict[SessionId, tuple[int, Head]])
    """The `key` and head of sessions written lately."""


class GroupTransaction:
    """One group's transaction; `last_pos` and `heads` are what `Known` takes over once it is committed."""

    def __init__(self, connection: Connection, known: Known, statements: HotStatements) -> None:
        self._connection = connection
        self._statements = statements
        self._known = known
        self.last_pos = known.last_pos
        self.heads: dict[SessionId, tuple[int, Head]] = {}
        self._records: list[Row] = []
        self._full_results: list[Row] = []
        self._progress: dict[int, Row] = {}

    def create(
        self,
        session: NewSession,
        drafts: Sequence[RecordDraft],
        status: SessionStatus,
        request_key: RequestKey | None = None,
    ) -> Sequence[StoredRecord]:
        """Make a session with its first records.

        Raises:
            StoreFailure: the id is taken, or the parent is not there.
        """
        if self._head(session.id) is not None:
            raise StoreFailure(f"there is a session {session.id} already")
        if session.parent is not None and self._head(session.parent.session) is None:
            raise StoreFailure(f"the parent session {session.parent.session} is not there")
        row = new_session_row(session, status, chain.EMPTY)
        (key,) = cast("tuple[int]", self._connection.execute(insert(sessions), row).inserted_primary_key)
        self._keep_key(request_key, key, drafts, session.created_at)
        return self._extend(session.id, key, chain.EMPTY, drafts, status, session.created_at)

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
        found = self._head(session)
        if found is None:
            raise SequenceConflict(f"session {session} is not there")
        key, head = found
        if head.seq != expected_seq:
            raise SequenceConflict(f"session {session} is at seq {head.seq}, not {expected_seq}")
        self._keep_key(request_key, key, drafts, now)
        return self._extend(session, key, head, drafts, status, now)

    def _keep_key(
        self, request_key: RequestKey | None, session_key: int, drafts: Sequence[RecordDraft], now: datetime
    ) -> None:
        if request_key is None:
            return
        named = {name: getattr(request_key, name) for name in ("owner", "method", "path", "key")}
        row = {
            **named,
            "body": request_key.body,
            "session_key": session_key,
            "turn": drafts[0].turn,
            "created_at": format_time(now),
        }
        # Of two with the same key the first stays; a conflict would undo the writes of the whole group.
        absent = ~exists().where(*(request_keys.c[name] == value for name, value in named.items()))
        values = select(*(literal(value, request_keys.c[name].type) for name, value in row.items())).where(absent)
        self._connection.execute(insert(request_keys).from_select(list(row), values))

    def forget_keys(self, before: datetime) -> None:
        """Forget the keys that were kept before a moment."""
        self._connection.execute(delete(request_keys).where(request_keys.c.created_at < format_time(before)))

    def _head(self, session: SessionId) -> tuple[int, Head] | None:
        if found := self.heads.get(session) or self._known.heads.get(session):
            return found
        row = self._statements.head.first(self._connection, {"session": session})
        return None if row is None else (row[0], Head(seq=row[1], hash=row[2]))

    def _extend(
        self,
        session: SessionId,
        key: int,
        head: Head,
        drafts: Sequence[RecordDraft],
        status: SessionStatus,
        now: datetime,
    ) -> Sequence[StoredRecord]:
        added: list[StoredRecord] = []
        seq, last_hash = head.seq, head.hash
        for draft in drafts:
            seq += 1
            self.last_pos += 1
            last_hash = chain.link(last_hash, draft.body)
            added.append(
                StoredRecord(
                    session=session,
                    turn=draft.turn,
                    type=draft.type,
                    seq=seq,
                    pos=self.last_pos,
                    body=draft.body,
                    hash=last_hash,
                )
            )
            if draft.full is not None:
                self._full_results.append({"pos": self.last_pos, "body": draft.full})
        self._records += [_record_row(key, stored) for stored in added]
        head = Head(seq=seq, hash=last_hash)
        self._progress[key] = {"of": key, **progress_row(status, head, now)}
        self.heads[session] = (key, head)
        return added

    def flush(self) -> None:
        """Send the gathered appends to the database."""
        if self._records:
            self._statements.records.run(self._connection, self._records)
        # Behind the records, which they name.
        if self._full_results:
            self._statements.full_results.run(self._connection, self._full_results)
        if self._progress:
            self._statements.progress.run(self._connection, list(self._progress.values()))
        self._records, self._full_results, self._progress = [], [], {}

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
        self._connection.execute(update(sessions).where(sessions.c.id == session).values(changes))
        return queries.session(self._connection, session)

    def delete(self, session: SessionId) -> bool:
        """Remove a session; its records, their full results and its children go with it by their foreign keys."""
        self.flush()
        removed = self._connection.execute(delete(sessions).where(sessions.c.id == session)).rowcount > 0
        if removed:
            self._connection.execute(update(store).values(pos_floor=self.last_pos))
            # Which children went is not known here; heads can always be read again.
            self.heads.clear()
            self._known.heads.clear()
        return removed

    def prune(self, before: datetime, limit: int) -> Sequence[SessionId]:
        """Remove sessions that are idle, were last changed before a moment and have no children; give their ids."""
        self.flush()
        pruned = queries.idle_leaves(self._connection, before, limit)
        for session in pruned:
            self.delete(session)
        return pruned

    def put_specs(self, specs_hash: str, body: bytes) -> None:
        """Keep a spec list, if it isn't kept already."""
        row = select(literal(specs_hash), literal(body))
        absent = ~exists().where(specs.c.hash == specs_hash)
        self._connection.execute(insert(specs).from_select(["hash", "body"], row.where(absent)))


def _record_row(key: int, stored: StoredRecord) -> Row:
    return {
        "pos": stored.pos,
        "session_key": key,
        "seq": stored.seq,
        "turn": stored.turn,
        "type": stored.type,
        "body": stored.body,
        "hash": stored.hash,
    }
