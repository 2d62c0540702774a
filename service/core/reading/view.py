"""A reading's status, as a fold of its log."""

from __future__ import annotations

from service.core.reading.state import ReadingLogState
from service.core.reading.status import ReadingState, ReadingStatus


def reading_status(state: ReadingLogState) -> ReadingStatus:
    """Give what a reading's row tells of it."""
    ended = state.ended
    going = ReadingState.QUEUED if state.planned is None else ReadingState.RUNNING
    return ReadingStatus(
        state=ReadingState.FINISHED if ended is not None else going,
        outcome=None if ended is None else ended.outcome,
        error=None if ended is None else ended.error,
        chunks=() if state.planned is None else tuple(len(ends) for ends in state.planned.ends),
        chunks_seen=state.chunks_seen,
        chunks_used=state.chunks_used,
        calls=state.calls,
        answer=None if state.answered is None else state.answered.content,
        usage=state.usage,
    )
