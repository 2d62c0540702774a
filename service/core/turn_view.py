"""A turn resource and a session's status, as folds of the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from service.core.records import Entry, PendingCall, TurnFinished
from service.core.session_status import SessionState, SessionStatus
from service.core.turn_fold import apply
from service.core.turn_state import Phase, TurnState
from service.core.views import TurnState as ShownState
from service.core.views import TurnView


def turn_view(entries: Sequence[Entry]) -> TurnView:
    """Fold the entries of one turn, from its first to the last that there is."""
    state = TurnState()
    for entry in entries:
        state = apply(state, entry)
    first, last = entries[0], entries[-1]
    assert first.turn is not None  # the store was asked for a turn's records
    view = TurnView(
        id=first.turn,
        session=first.session,
        state=_shown_state(state),
        created_at=first.time,
        finished_at=None,
        outcome=None,
        limit=None,
        truncated=False,
        error=None,
        content=None,
        steps=state.step,
        usage=state.usage,
        pending=_pending(state),
        child=state.child,
        first_seq=first.seq,
        last_seq=last.seq,
    )
    return _ended(view, last) if isinstance(last.record, TurnFinished) else view


def _shown_state(state: TurnState) -> ShownState:
    if state.queued:
        return ShownState.QUEUED
    return ShownState.AWAITING_APPROVAL if state.phase is Phase.AWAITING_APPROVAL else ShownState.RUNNING


def _pending(state: TurnState) -> tuple[PendingCall, ...]:
    return tuple(call.asked for call in state.pending_calls if call.asked is not None)


def _ended(view: TurnView, last: Entry) -> TurnView:
    end = last.record
    assert isinstance(end, TurnFinished)  # the caller looked
    return replace(
        view,
        state=ShownState.FINISHED,
        finished_at=last.time,
        outcome=end.outcome,
        limit=end.limit,
        truncated=end.truncated,
        error=end.error,
        content=end.content,
        steps=end.steps,
        usage=end.usage,
    )


def turn_views(entries: Iterable[Entry]) -> tuple[TurnView, ...]:
    """Fold a session's entries into its turns, oldest first."""
    turns: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.turn is not None:
            turns.setdefault(entry.turn, []).append(entry)
    return tuple(turn_view(turn) for turn in turns.values())


def session_status(state: TurnState) -> SessionStatus:
    """Say what a session's row shows of its turn state."""
    running = state.phase is not Phase.IDLE
    return SessionStatus(
        state=_session_state(state),
        running=state.turn if running else None,
        queued=state.waiting_turns,
        usage=state.totals.usage,
        used_tokens=state.used_tokens,
        pending=_pending(state),
        child=state.child,
    )


def _session_state(state: TurnState) -> SessionState:
    if state.phase is Phase.AWAITING_APPROVAL:
        return SessionState.AWAITING_APPROVAL
    # A queue without a turn before it is between two turns, and a start goes on with it (S4).
    return SessionState.RUNNING if state.phase is not Phase.IDLE or state.queued else SessionState.IDLE
