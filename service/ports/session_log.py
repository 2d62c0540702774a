"""The store: sessions, their logs, and what belongs to them (section 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from service.core.chain import Head
from service.core.ids import OwnerId, SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.records import ParentLink
from service.core.request_key import KeyedAnswer, RequestKey
from service.core.session_status import SessionStatus
from service.ports.cursor import Cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDraft:
    """A record that is about to be appended: `body` is its exact JSON with its `seq` inside (S3).

    `full` is the whole text, UTF-8, of a tool result that was cut; kept beside the record in the same transaction (T9).
    """

    turn: TurnId | None
    type: str
    body: bytes
    full: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRecord:
    """A record as the store keeps it; `pos` grows strictly over the whole store, in commit order."""

    session: SessionId
    turn: TurnId | None
    type: str
    seq: int
    pos: int
    body: bytes
    hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """What the store is told of a session when it is made."""

    id: SessionId
    owner: OwnerId
    title: str
    metadata: JsonObject
    agent: str | None
    parent: ParentLink | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A session as the store keeps it beside its log; `created` is the body of its first record.

    `status` is derived from the log and written in the transaction of the records that changed it.
    """

    id: SessionId
    owner: OwnerId
    title: str
    metadata: JsonObject
    agent: str | None
    parent: ParentLink | None
    created_at: datetime
    updated_at: datetime
    status: SessionStatus
    head: Head
    created: bytes


class SessionLog(Protocol):
    """The store: sessions, their logs, and the spec lists that baselines name by hash (section 9).

    Every method may raise `StoreFailure`; a session that is not there is None or an empty list, never an error,
    except for `append`, which then raises `SequenceConflict`.
    """

    async def create_session(
        self,
        session: NewSession,
        records: Sequence[RecordDraft],
        status: SessionStatus,
        *,
        key: RequestKey | None = None,
        at_most: int = 0,
    ) -> Sequence[StoredRecord]:
        """Make a session and append its first records in one transaction, and keep the request's key in it (H3).

        `at_most` bounds how many sessions its owner may have then, those that handoffs made among them; 0 does not
        (K3). It holds also for requests that come at once, and costs no more the more sessions there are.

        Raises:
            TooManySessions: there would be more.
        """
        ...

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
        """Append all records or none; they are on disk when this returns (S1, S2).

        A `key` is kept in the same transaction, with the turn of the first record (H3).

        Raises:
            SequenceConflict: the log's last `seq` is not `expected_seq`, or the session is gone.
        """
        ...

    async def keyed(self, key: RequestKey) -> KeyedAnswer | None:
        """Give what was created under a key, whatever the body of that request was (H3)."""
        ...

    async def forget_keys(self, before: datetime) -> None:
        """Forget the keys that were kept before a moment."""
        ...

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
        """Read records in order; those of one turn only, when `turn` is given.

        It stops behind the record with which the bodies are `max_bytes` long or longer.
        """
        ...

    async def full_text(self, session: SessionId, seq: int) -> bytes | None:
        """Read the whole text of the cut result at this seq; None when the record has none (T9)."""
        ...

    async def read_all(
        self, owner: OwnerId, *, after_pos: int, limit: int, max_bytes: int | None = None
    ) -> Sequence[StoredRecord]:
        """Read records of all sessions of an owner, by `pos`; it stops as `read` does (H6)."""
        ...

    async def family(self, session: SessionId) -> Sequence[SessionId]:
        """List a session and its children at every depth, oldest first; nothing when it is not there (G2)."""
        ...

    async def read_family(
        self, session: SessionId, *, after_pos: int, limit: int, max_bytes: int | None = None
    ) -> Sequence[StoredRecord]:
        """Read records of a session and of its children at every depth, by `pos`; it stops as `read` does (H6, G2)."""
        ...

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
        """Read by `pos` the records of a turn, and those of `types_below` of the turns that it was handed over to.

        These are the first turns of the sessions whose parent it is, theirs, and so on. It stops as `read` does (G2).
        """
        ...

    async def last_pos(self) -> int:
        """Give the greatest `pos` ever given, also when its record is gone; 0 when there was none."""
        ...

    async def cursor(self, pos: int) -> Cursor:
        """Look up where a reader stands that has seen all up to `pos` (H6)."""
        ...

    async def session(self, session: SessionId) -> SessionRow | None:
        """Read one session's row."""
        ...

    async def sessions(
        self, *, owner: OwnerId | None, limit: int, before: SessionId | None = None, search: str = ""
    ) -> Sequence[SessionRow]:
        """List sessions, newest first; those created before the session `before`, when it is given.

        Only those with `search` somewhere in their title, id or agent, in capital or small letters; it has no NUL.
        """
        ...

    async def busy_sessions(self) -> Sequence[SessionId]:
        """List the sessions whose status is not idle, oldest first: what a start goes on with (S4)."""
        ...

    async def awaiting(self, owner: OwnerId) -> Sequence[SessionRow]:
        """List the sessions of an owner whose state is `awaiting_approval`, oldest first (A6)."""
        ...

    async def update_session(
        self, session: SessionId, *, title: str | None, metadata: JsonObject | None, now: datetime
    ) -> SessionRow | None:
        """Change what a person may change; None leaves a value as it is."""
        ...

    async def delete_session(self, session: SessionId) -> Sequence[SessionId]:
        """Remove a session with its log, its full results and its children; give the ids of all that went (H9).

        There are none when it was not there.
        """
        ...

    async def prune(self, before: datetime, *, limit: int) -> Sequence[SessionId]:
        """Remove sessions that are idle, were last changed before a moment and have no children; give their ids (S7).

        At most `limit` of them, oldest first; a child goes before its parent, so ask again until none is left.
        """
        ...

    async def put_specs(self, specs_hash: str, specs: bytes) -> None:
        """Keep a spec list once, under the hash of its bytes (X3)."""
        ...

    async def specs(self, specs_hash: str) -> bytes | None:
        """Read a spec list."""
        ...

    async def check(self) -> None:
        """See whether the store answers (readyz)."""
        ...
