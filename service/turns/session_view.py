"""A session's row as clients are shown it."""

from __future__ import annotations

from dataclasses import dataclass

from service.codec import decode_record
from service.core.records import Entry, SessionCreated
from service.core.views import ContextFill, SessionView
from service.ports import SessionRow
from service.turns.compaction import ByHand


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What came of a compaction by hand, and the session as it is then."""

    by_hand: ByHand
    session: SessionView


def session_view(row: SessionRow, context_tokens: int | None, first: Entry | None = None) -> SessionView:
    """Give the session resource; `context_tokens` is the size of a slot, None while it isn't known (P7).

    `first` is the log's first entry where it is at hand; else it is read from the row.
    """
    created = (first or decode_record(row.created)).record
    assert isinstance(created, SessionCreated)  # seq 1 is nothing else
    used = row.status.used_tokens
    fill = round(used / context_tokens, 4) if context_tokens else None
    return SessionView(
        id=row.id,
        title=row.title,
        metadata=row.metadata,
        owner=row.owner,
        created_at=row.created_at,
        updated_at=row.updated_at,
        agent=row.agent,
        parent=row.parent,
        fork=created.fork,
        baseline=created.baseline,
        status=row.status,
        last_seq=row.head.seq,
        context=ContextFill(used_tokens=used, size_tokens=context_tokens, fill=fill),
    )
