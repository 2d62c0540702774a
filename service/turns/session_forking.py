"""Makes a session of another one's beginning: the same baseline, the records before one of its turns (H10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from service.codec import decode_record, encode_record
from service.core.errors import ProblemCode, RequestRefused
from service.core.forking import NothingToFork, before_turn, renumbered
from service.core.ids import SessionId
from service.core.records import Entry, ForkLink, SessionCreated, ToolResult
from service.core.session_status import SessionStatus
from service.core.turn_fold import fold
from service.core.turn_view import session_status
from service.ports import RecordDraft, SessionLog, SessionRow
from service.turns.requests import ForkAsked


@dataclass(frozen=True, slots=True)
class ForkedLog:
    """The records of a fork, its own first one before them, and the status that they fold to."""

    drafts: Sequence[RecordDraft]
    status: SessionStatus


class SessionForking:
    """Copies logs."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log

    async def fork(self, source: SessionRow, asked: ForkAsked, session: SessionId, now: datetime) -> ForkedLog:
        """Copy what stands before a turn, under the new session's id and with `seq` counted anew.

        Raises:
            RequestRefused: there is no such turn, or its message was never taken up.
        """
        stored = await self._log.read(source.id)
        entries = [decode_record(record.body) for record in stored]
        try:
            copied = before_turn(entries, asked.before)
        except NothingToFork as nothing:
            detail = f"The session can't be forked before turn {asked.before!r}: {nothing}."
            raise RequestRefused(ProblemCode.NOT_FOUND, detail) from nothing
        created = entries[0].record
        assert isinstance(created, SessionCreated)  # seq 1 is nothing else
        place = stored[copied[-1].seq - 1] if copied else stored[0]
        link = ForkLink(session=source.id, seq=place.seq, hash=place.hash.hex())
        first = Entry(session=session, turn=None, seq=1, time=now, record=replace(created, parent=None, fork=link))
        copies = [first, *renumbered(copied, session)]
        drafts = [_draft(first, None)] + [
            _draft(copy, await self._whole(source.id, entry)) for copy, entry in zip(copies[1:], copied, strict=True)
        ]
        return ForkedLog(drafts, session_status(fold(copies)))

    async def _whole(self, source: SessionId, entry: Entry) -> bytes | None:
        cut = isinstance(entry.record, ToolResult) and entry.record.truncated
        return await self._log.full_text(source, entry.seq) if cut else None


def _draft(entry: Entry, whole: bytes | None) -> RecordDraft:
    return RecordDraft(turn=entry.turn, type=entry.record.type, body=encode_record(entry), full=whole)
