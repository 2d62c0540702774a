"""What the store in memory keeps of a session, and how sessions hang together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from typing import TypeVar

from service.core import chain
from service.core.chain import Head
from service.core.ids import SessionId, TurnId
from service.core.session_status import SessionStatus
from service.ports import NewSession, SessionRow, StoredRecord
from service.ports.reading_log import StoredReadingRecord

R = TypeVar("R", StoredRecord, StoredReadingRecord)


@dataclass(slots=True)
class Kept:
    """One session: what it was made with, what changes beside the log, and the log (index: `seq` - 1)."""

    made: NewSession
    updated_at: datetime
    status: SessionStatus
    records: list[StoredRecord] = field(default_factory=list[StoredRecord])
    full_texts: dict[int, bytes] = field(default_factory=dict[int, bytes])
    """By `seq`, of results that were cut."""

    @property
    def head(self) -> Head:
        """Where its log ends."""
        return Head(seq=self.records[-1].seq, hash=self.records[-1].hash) if self.records else chain.EMPTY

    def row(self) -> SessionRow:
        """Give what is kept beside its log."""
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


def holds(session: NewSession, search: str) -> bool:
    """Tell whether a text is found in a session's title, id or agent, in capital or small letters."""
    folded = search.casefold()
    return any(folded in text.casefold() for text in (session.title, session.id, session.agent or ""))


def family(sessions: Mapping[SessionId, Kept], session: SessionId) -> Sequence[SessionId]:
    """List a session and its children at every depth, oldest first; nothing when it is not there."""
    if session not in sessions:
        return []
    below = (member for child in _children(sessions, session) for member in family(sessions, child))
    return sorted([session, *below])


def handed_over(sessions: Mapping[SessionId, Kept], session: SessionId, turn: TurnId) -> Iterator[StoredRecord]:
    """Give the records of the turns that a turn was handed over to, at every depth."""
    for child in _children(sessions, session, turn):
        log = sessions[child].records
        # Behind its session_created stands the first record of the turn that was handed over.
        handed = log[1].turn if len(log) > 1 else None
        if handed is not None:
            yield from (record for record in log if record.turn == handed)
            yield from handed_over(sessions, child, handed)


def _children(
    sessions: Mapping[SessionId, Kept], session: SessionId, turn: TurnId | None = None
) -> Sequence[SessionId]:
    parents = ((child, kept.made.parent) for child, kept in sessions.items())
    return [
        child
        for child, parent in parents
        if parent is not None and parent.session == session and turn in (None, parent.turn)
    ]


def behind(records: list[R], pos: int) -> list[R]:
    """Give those of a log's records that come behind a place in the store."""
    return records[bisect_right(records, pos, key=_pos) :]


def by_pos(records: Iterable[StoredRecord]) -> list[StoredRecord]:
    """Put records of several sessions into the store's order."""
    return sorted(records, key=_pos)


def up_to(records: list[R], max_bytes: int | None) -> list[R]:
    """Stop behind the record with which the bodies are so long or longer."""
    if max_bytes is None:
        return records
    sizes = list(accumulate(len(record.body) for record in records))
    return records[: bisect_left(sizes, max_bytes) + 1]


def _pos(record: StoredRecord | StoredReadingRecord) -> int:
    return record.pos
