"""Turns that wait for people, as callers meet them: who waits, for what, and whose decision it is (A1, A2, A6, G2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.codec import decode_record
from service.core.decisions import DecisionAsked, not_pending
from service.core.errors import RequestRefused
from service.core.ids import OwnerId, SessionId, TurnId
from service.core.records import HandoffStarted, PendingCall
from service.core.request_key import RequestKey
from service.core.session_status import SessionState
from service.core.turn_view import turn_view
from service.core.views import TurnState, TurnView
from service.ports import SessionLog, SessionRow, StoredRecord
from service.turns.approvals import Approvals, decided_before
from service.turns.live_sessions import LiveSessions


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What became of decisions: `goes_on` when nothing waits any more, `after_pos` stands before their records."""

    goes_on: bool
    after_pos: int


class Pauses:
    """Looks from a turn down to the child that waits for it."""

    def __init__(self, log: SessionLog, live: LiveSessions, approvals: Approvals) -> None:
        self._log = log
        self._live = live
        self._approvals = approvals

    async def pending(self, owner: OwnerId) -> Sequence[PendingCall]:
        """Give all calls of an owner's sessions that wait, what was asked first before the others."""
        rows = await self._log.awaiting(owner)
        waiting = [pending for row in rows for pending in row.status.pending]
        return sorted(waiting, key=lambda pending: (pending.asked_at, pending.session, pending.call))

    async def waits(self, row: SessionRow) -> bool:
        """Say whether a session waits for people, itself or through a child."""
        while row.status.child is not None:
            below = await self._log.session(row.status.child.session)
            if below is None or below.status.running != row.status.child.turn:
                return False
            row = below
        return row.status.state is SessionState.AWAITING_APPROVAL

    async def shown(self, view: TurnView) -> TurnView:
        """Give a turn with what its child waits for, if it does."""
        if view.state is not TurnState.RUNNING or view.child is None:
            return view
        stored = await self._log.read(view.child.session, turn=view.child.turn)
        if not stored:
            return view
        child = await self.shown(turn_view([decode_record(record.body) for record in stored]))
        if child.state is not TurnState.AWAITING_APPROVAL:
            return view
        return replace(view, state=child.state, pending=child.pending)

    async def decide(
        self,
        session: SessionId,
        turn: TurnId,
        asked: Sequence[DecisionAsked],
        *,
        by: str,
        key: RequestKey | None,
    ) -> Decided:
        """Take decisions in; those of a turn that was handed over go to the child that waits.

        Raises:
            RequestRefused: one of them can't be taken.
        """
        where = await self._who_waits(session, turn)
        run = self._live.run_of(where[0])
        if run is None or run.turn != where[1]:
            return await self._again(session, turn, asked)
        try:
            stored = await self._approvals.decide(run.live, asked, by=by, key=key)
        except RequestRefused:
            # They may have been of another child, whose calls have the same numbers.
            made = await self._made_before(session, turn, asked)
            if made is None:
                raise
            return made
        if not stored:
            return await self._again(session, turn, asked)
        return Decided(goes_on=not run.live.state.pending_calls, after_pos=stored[0].pos - 1)

    async def _again(self, session: SessionId, turn: TurnId, asked: Sequence[DecisionAsked]) -> Decided:
        made = await self._made_before(session, turn, asked)
        if made is None:
            raise not_pending(asked[0].call)
        return made

    async def _made_before(self, session: SessionId, turn: TurnId, asked: Sequence[DecisionAsked]) -> Decided | None:
        """Find decisions as they were taken the first time, by a child also when that has ended (A2, G2)."""
        stored = await self._log.read(session, turn=turn)
        first = decided_before(stored, asked)
        if first is not None:
            return Decided(goes_on=not self._still_waits(stored, first), after_pos=first.pos - 1)
        for record in stored:
            if record.type == HandoffStarted.type:
                handed_over = decode_record(record.body).record
                assert isinstance(handed_over, HandoffStarted)  # its type says so
                made = await self._made_before(handed_over.child.session, handed_over.child.turn, asked)
                if made is not None:
                    return made
        return None

    def _still_waits(self, turn: Sequence[StoredRecord], decided: StoredRecord) -> bool:
        """Say whether other calls of the same batch wait still: the turn has not gone on since then."""
        later = turn_view([decode_record(record.body) for record in turn])
        if later.state is not TurnState.AWAITING_APPROVAL:
            return False
        asked_last = max(record.seq for record in turn if record.type == "approval_requested")
        return decided.seq > asked_last

    async def _who_waits(self, session: SessionId, turn: TurnId) -> tuple[SessionId, TurnId]:
        row = await self._log.session(session)
        while row is not None and row.status.running == turn and row.status.child is not None:
            session, turn = row.status.child.session, row.status.child.turn
            row = await self._log.session(session)
        return session, turn
