"""The store in memory, a `SessionLog` and a `ReadingLog`.

It keeps every promise of theirs but durability; the same tests hold it to them as the SQL stores.
No method awaits anything, so each is atomic among the tasks of one event loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain as joined

from service.adapters.log_memory.kept import Kept, behind, by_pos, family, handed_over, holds, up_to
from service.adapters.log_memory.readings import MemoryReadings
from service.adapters.log_memory.shared import refuse_wrong_seq
from service.core.errors import SequenceConflict, StoreFailure, TooManySessions
from service.core.ids import OwnerId, SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.request_key import KeyedAnswer, RequestKey
from service.core.session_status import SessionState, SessionStatus
from service.ports import NewSession, RecordDraft, SessionRow, StoredRecord


class MemoryLog(MemoryReadings):
    """A `SessionLog` and a `ReadingLog` that live as long as their process."""

    def __init__(self) -> None:
        super().__init__()
        self._sessions: dict[SessionId, Kept] = {}
        self._specs: dict[str, bytes] = {}
        self._owned: Counter[OwnerId] = Counter()

    async def create_session(
        self,
        session: NewSession,
        records: Sequence[RecordDraft],
        status: SessionStatus,
        *,
        key: RequestKey | None = None,
        at_most: int = 0,
    ) -> Sequence[StoredRecord]:
        """Make a session and append its first records.

        Raises:
            TooManySessions: the owner would have more than `at_most`.
            StoreFailure: the id is taken, or the parent is not there.
        """
        if session.parent is not None and session.parent.session not in self._sessions:
            raise StoreFailure(f"the parent session {session.parent.session} is not there")
        if 0 < at_most <= self._owned[session.owner]:
            raise TooManySessions(f"{session.owner} has {at_most} sessions already")
        self._shared.take_id("session", session.id)
        self._owned[session.owner] += 1
        made = replace(session, metadata=dict(session.metadata))
        kept = self._sessions[session.id] = Kept(made=made, updated_at=session.created_at, status=status)
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
        refuse_wrong_seq("session", session, kept.head, expected_seq)
        kept.status, kept.updated_at = status, now
        self._keep_key(key, session, records, now)
        return self._extend(kept, records)

    def _keep_key(
        self, key: RequestKey | None, session: SessionId, records: Sequence[RecordDraft], now: datetime
    ) -> None:
        if key is not None:
            self._shared.keep_key(key, KeyedAnswer(body=key.body, session=session, turn=records[0].turn), now)

    async def keyed(self, key: RequestKey) -> KeyedAnswer | None:
        """Give what was created under a key (H3)."""
        return self._shared.keyed(key, KeyedAnswer)

    async def forget_keys(self, before: datetime) -> None:
        """Forget the keys that were kept before a moment."""
        self._shared.forget_keys(before)

    def _extend(self, kept: Kept, drafts: Sequence[RecordDraft]) -> Sequence[StoredRecord]:
        placed = self._shared.place(kept.head, (draft.body for draft in drafts))
        for draft, at in zip(drafts, placed, strict=True):
            kept.records.append(
                StoredRecord(
                    session=kept.made.id,
                    turn=draft.turn,
                    type=draft.type,
                    seq=at.seq,
                    pos=at.pos,
                    body=draft.body,
                    hash=at.hash,
                )
            )
            if draft.full is not None:
                kept.full_texts[at.seq] = draft.full
        return kept.records[len(kept.records) - len(placed) :]

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
        window = behind(self._records(session)[after_seq:], after_pos)
        if turn is not None:
            window = [record for record in window if record.turn == turn]
        return up_to(window[:limit], max_bytes)

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
        owned = (kept.records for kept in self._sessions.values() if kept.made.owner == owner)
        found = joined.from_iterable(behind(records, after_pos) for records in owned)
        return up_to(by_pos(found)[:limit], max_bytes)

    async def family(self, session: SessionId) -> Sequence[SessionId]:
        """List a session and its children at every depth, oldest first (G2)."""
        return family(self._sessions, session)

    async def read_family(
        self, session: SessionId, *, after_pos: int, limit: int, max_bytes: int | None = None
    ) -> Sequence[StoredRecord]:
        """Read records of a session and of its children at every depth, by `pos` (H6, G2)."""
        found = joined.from_iterable(behind(self._records(member), after_pos) for member in await self.family(session))
        return up_to(by_pos(found)[:limit], max_bytes)

    async def read_turn_family(
        self,
        session: SessionId,
        turn: TurnId,
        *,
        types_below: Sequence[str],
        after_pos: int,
        limit: int,
        max_bytes: int | None = None,
    ) -> Sequence[StoredRecord]:
        """Read records of a turn and those, of some types, of the turns that it was handed over to, by `pos` (G2)."""
        own = [record for record in self._records(session) if record.turn == turn]
        below = (record for record in handed_over(self._sessions, session, turn) if record.type in types_below)
        return up_to(behind(by_pos([*own, *below]), after_pos)[:limit], max_bytes)

    async def session(self, session: SessionId) -> SessionRow | None:
        """Read one session's row."""
        kept = self._sessions.get(session)
        return None if kept is None else kept.row()

    async def sessions(
        self, *, owner: OwnerId | None, limit: int, before: SessionId | None = None, search: str = ""
    ) -> Sequence[SessionRow]:
        """List sessions, newest first."""
        listed = [
            session
            for session, kept in self._sessions.items()
            if (owner is None or kept.made.owner == owner)
            and (before is None or session < before)
            and holds(kept.made, search)
        ]
        return [self._sessions[session].row() for session in sorted(listed, reverse=True)[:limit]]

    async def busy_sessions(self) -> Sequence[SessionId]:
        """List the sessions whose status is not idle, oldest first (S4)."""
        return sorted(session for session, kept in self._sessions.items() if kept.status.state is not SessionState.IDLE)

    async def awaiting(self, owner: OwnerId) -> Sequence[SessionRow]:
        """List the sessions of an owner that wait for a person, oldest first (A6)."""
        found = [
            kept
            for kept in self._sessions.values()
            if kept.made.owner == owner and kept.status.state is SessionState.AWAITING_APPROVAL
        ]
        return [kept.row() for kept in sorted(found, key=lambda kept: kept.made.id)]

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

    async def delete_session(self, session: SessionId) -> Sequence[SessionId]:
        """Remove a session with its log, its full results and its children; give the ids of all (H9)."""
        removed = await self.family(session)
        for gone in removed:
            self._owned[self._sessions.pop(gone).made.owner] -= 1
        self._shared.let_go(removed)
        return removed

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
