"""The store in memory: for tests and for runs that may forget everything.

It keeps every promise of `SessionLog` but durability; the same tests hold it to them as the SQL stores.
No method awaits anything, so each is atomic among the tasks of one event loop.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate

from service.core import chain
from service.core.chain import Head
from service.core.errors import SequenceConflict, StoreFailure
from service.core.ids import OwnerId, SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.request_key import KeyedAnswer, RequestKey
from service.core.session_status import SessionState, SessionStatus
from service.ports import NewSession, RecordDraft, SessionRow, StoredRecord


@dataclass(slots=True)
class _Kept:
    """One session: what it was made with, what changes beside the log, and the log (index: `seq` - 1)."""

    made: NewSession
    updated_at: datetime
    status: SessionStatus
    records: list[StoredRecord] = field(default_factory=list[StoredRecord])
    full_texts: dict[int, bytes] = field(default_factory=dict[int, bytes])
    """By `seq`, of results that were cut."""

    @property
    def head(self) -> Head:
        return Head(seq=self.records[-1].seq, hash=self.records[-1].hash) if self.records else chain.EMPTY

    def row(self) -> SessionRow:
        made = self.made
        return SessionRow(
            id=made.id,
            owner=made.owner,
            title=made.title,
            metadata=dict(made.metadata),
            agent=made.agent,
            parent=made.parent,
            created_at=made.created_at,
            updated_at=self.updated_at,
            status=self.status,
            head=self.head,
            created=self.records[0].body,
        )


class MemoryLog:
    """A `SessionLog` that lives as long as its process."""

    def __init__(self) -> None:
        self._sessions: dict[SessionId, _Kept] = {}
        self._specs: dict[str, bytes] = {}
        self._keys: dict[tuple[str, ...], tuple[datetime, KeyedAnswer]] = {}
        self._last_pos = 0

    async def create_session(
        self,
        session: NewSession,
        records: Sequence[RecordDraft],
        status: SessionStatus,
        *,
        key: RequestKey | None = None,
    ) -> Sequence[StoredRecord]:
        """Make a session and append its first records.

        Raises:
            StoreFailure: the id is taken, or the parent is not there.
        """
        if session.id in self._sessions:
            raise StoreFailure(f"there is a session {session.id} already")
        if session.parent is not None and session.parent.session not in self._sessions:
            raise StoreFailure(f"the parent session {session.parent.session} is not there")
        made = replace(session, metadata=dict(session.metadata))
        kept = self._sessions[session.id] = _Kept(made=made, updated_at=session.created_at, status=status)
        self._keep_key(key, session.id, records, session.created_at)
        return self._extend(kept, records)

    async def append(
        self,
        session: SessionId,
        expected_seq: int,
        records: Sequence[RecordDraft],
        status: SessionStatus,
        now: datetime,
        *,
        key: RequestKey | None = None,
    ) -> Sequence[StoredRecord]:
        """Append all records or none (S1).

        Raises:
            SequenceConflict: the log's last `seq` is not `expected_seq`, or the session is gone.
        """
        kept = self._sessions.get(session)
        if kept is None:
            raise SequenceConflict(f"session {session} is not there")
        if kept.head.seq != expected_seq:
            raise SequenceConflict(f"session {session} is at seq {kept.head.seq}, not {expected_seq}")
        kept.status, kept.updated_at = status, now
        self._keep_key(key, session, records, now)
        return self._extend(kept, records)

    def _keep_key(
        self, key: RequestKey | None, session: SessionId, records: Sequence[RecordDraft], now: datetime
    ) -> None:
        if key is not None:
            answer = KeyedAnswer(body=key.body, session=session, turn=records[0].turn)
            self._keys.setdefault((key.owner, key.method, key.path, key.key), (now, answer))

    async def keyed(self, key: RequestKey) -> KeyedAnswer | None:
        """Give what was created under a key (H3)."""
        kept = self._keys.get((key.owner, key.method, key.path, key.key))
        return kept[1] if kept is not None else None

    async def forget_keys(self, before: datetime) -> None:
        """Forget the keys that were kept before a moment."""
        self._keys = {key: kept for key, kept in self._keys.items() if kept[0] >= before}

    def _extend(self, kept: _Kept, drafts: Sequence[RecordDraft]) -> Sequence[StoredRecord]:
        head = kept.head
        added: list[StoredRecord] = []
        full_texts: dict[int, bytes] = {}
        for draft in drafts:
            head = Head(seq=head.seq + 1, hash=chain.link(head.hash, draft.body))
            self._last_pos += 1
            added.append(
                StoredRecord(
                    session=kept.made.id,
                    turn=draft.turn,
                    type=draft.type,
                    seq=head.seq,
                    pos=self._last_pos,
                    body=draft.body,
                    hash=head.hash,
                )
            )
            if draft.full is not None:
                full_texts[head.seq] = draft.full
        kept.records += added
        kept.full_texts |= full_texts
        return added

    async def read(
        self,
        session: SessionId,
        *,
        after_seq: int = 0,
        after_pos: int = 0,
        limit: int | None = None,
        max_bytes: int | None = None,
        turn: TurnId | None = None,
    ) -> Sequence[StoredRecord]:
        """Read records in order; those of one turn only, when `turn` is given."""
        records = self._records(session)
        start = max(after_seq, bisect_right(records, after_pos, key=lambda record: record.pos))
        window = records[start:]
        if turn is not None:
            window = [record for record in window if record.turn == turn]
        return _up_to(window[:limit], max_bytes)

    async def read_from_last(self, session: SessionId, record_type: str) -> Sequence[StoredRecord]:
        """Read the last record of this type and all after it; everything, when there is none."""
        records = self._records(session)
        for index in range(len(records) - 1, -1, -1):
            if records[index].type == record_type:
                return records[index:]
        return records[:]

    async def full_text(self, session: SessionId, seq: int) -> bytes | None:
        """Read the whole text of the cut result at this seq; None when the record has none (T9)."""
        kept = self._sessions.get(session)
        return None if kept is None else kept.full_texts.get(seq)

    def _records(self, session: SessionId) -> list[StoredRecord]:
        kept = self._sessions.get(session)
        return [] if kept is None else kept.records

    async def read_all(
        self, owner: OwnerId, *, after_pos: int, limit: int, max_bytes: int | None = None
    ) -> Sequence[StoredRecord]:
        """Read records of all sessions of an owner, by `pos` (H6)."""
        found = (
            record
            for kept in self._sessions.values()
            if kept.made.owner == owner
            for record in kept.records[bisect_right(kept.records, after_pos, key=lambda record: record.pos) :]
        )
        return _up_to(sorted(found, key=lambda record: record.pos)[:limit], max_bytes)

    async def last_pos(self) -> int:
        """Give the greatest `pos` ever given, 0 when there was none; a deletion does not lower it."""
        return self._last_pos

    async def session(self, session: SessionId) -> SessionRow | None:
        """Read one session's row."""
        kept = self._sessions.get(session)
        return None if kept is None else kept.row()

    async def sessions(
        self, *, owner: OwnerId | None, limit: int, before: SessionId | None = None
    ) -> Sequence[SessionRow]:
        """List sessions, newest first."""
        listed = [
            session
            for session, kept in self._sessions.items()
            if (owner is None or kept.made.owner == owner) and (before is None or session < before)
        ]
        return [self._sessions[session].row() for session in sorted(listed, reverse=True)[:limit]]

    async def busy_sessions(self) -> Sequence[SessionId]:
        """List the sessions whose status is not idle, oldest first (S4)."""
        return sorted(session for session, kept in self._sessions.items() if kept.status.state is not SessionState.IDLE)

    async def update_session(
        self, session: SessionId, *, title: str | None, metadata: JsonObject | None, now: datetime
    ) -> SessionRow | None:
        """Change what a person may change; None leaves a value as it is."""
        kept = self._sessions.get(session)
        if kept is None:
            return None
        kept.made = replace(
            kept.made,
            title=kept.made.title if title is None else title,
            metadata=kept.made.metadata if metadata is None else dict(metadata),
        )
        kept.updated_at = now
        return kept.row()

    async def delete_session(self, session: SessionId) -> bool:
        """Remove a session with its log, its full results and its children; False when it was not there (H9)."""
        if self._sessions.pop(session, None) is None:
            return False
        self._keys = {key: kept for key, kept in self._keys.items() if kept[1].session != session}
        children = [child for child, kept in self._sessions.items() if _is_child(kept, session)]
        for child in children:
            await self.delete_session(child)
        return True

    async def prune(self, before: datetime, *, limit: int) -> Sequence[SessionId]:
        """Remove at most `limit` sessions that are idle and were last changed before a moment (S7)."""
        parents = {kept.made.parent.session for kept in self._sessions.values() if kept.made.parent is not None}
        idle = [
            session
            for session, kept in self._sessions.items()
            if kept.status.state is SessionState.IDLE and kept.updated_at < before and session not in parents
        ]
        pruned = sorted(idle)[:limit]
        for session in pruned:
            await self.delete_session(session)
        return pruned

    async def put_specs(self, specs_hash: str, specs: bytes) -> None:
        """Keep a spec list once, under the hash of its bytes (X3)."""
        self._specs.setdefault(specs_hash, specs)

    async def specs(self, specs_hash: str) -> bytes | None:
        """Read a spec list."""
        return self._specs.get(specs_hash)

    async def check(self) -> None:
        """Answer: memory is always there."""


def _is_child(kept: _Kept, session: SessionId) -> bool:
    return kept.made.parent is not None and kept.made.parent.session == session


def _up_to(records: list[StoredRecord], max_bytes: int | None) -> list[StoredRecord]:
    if max_bytes is None:
        return records
    sizes = list(accumulate(len(record.body) for record in records))
    return records[: bisect_left(sizes, max_bytes) + 1]
