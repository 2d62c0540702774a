"""What a turn cost, when it has ended: for the meter, and for the one line that the log of the process has of it.

Above: `live_session`, which appends the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import structlog

from service.core.ids import SessionId, TurnId
from service.core.records import Entry, Outcome, TurnFinished
from service.core.turn import waited_s
from service.core.turn_state import TurnState
from service.ports.meter import TurnCost

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class TurnTimes:
    """What this process measures of a turn beside its records.

    `from_its_start` says that it was there when the turn began: else nobody knows what was shown before.
    """

    from_its_start: bool = True
    gate_wait_s: float = 0.0
    first_token_s: float | None = None

    @property
    def awaits_text(self) -> bool:
        """Whether the turn's first text is yet to come."""
        return self.from_its_start and self.first_token_s is None

    def text_shown(self, state: TurnState, now: datetime) -> None:
        """Take note of when it came."""
        self.first_token_s = _seconds_of(state, now)


def cost_of(before: TurnState, end: Entry, times: TurnTimes) -> TurnCost:
    """Give what a turn took; `before` is the session's state before its end, which may be that of another turn."""
    finished = end.record
    assert isinstance(finished, TurnFinished)  # the caller looked
    # A turn that ended in a queue has no time of its own.
    ran = before.turn == end.turn
    return TurnCost(
        outcome=finished.outcome,
        limit=finished.limit,
        error=None if finished.error is None else finished.error.kind,
        steps=finished.steps,
        usage=finished.usage,
        duration_s=_seconds_of(before, end.time) if ran else None,
        paused_s=waited_s(before, end.time) if ran else 0.0,
        gate_wait_s=times.gate_wait_s if ran else 0.0,
        first_token_s=times.first_token_s if ran else None,
    )


def _seconds_of(state: TurnState, now: datetime) -> float | None:
    """Give how long the open turn has lasted, without its waits for people."""
    if state.started_at is None:
        return None
    return max(0.0, (now - state.started_at).total_seconds() - waited_s(state, now))


def tell(session: SessionId, turn: TurnId | None, cost: TurnCost, trace_id: str | None) -> None:
    """Write the turn's line: what it cost, and nothing of what was said in it.

    One that failed is a warning: something that the turn needs is away or broken.
    """
    usage, first = cost.usage, cost.first_token_s
    write = log.warning if cost.outcome is Outcome.FAILED else log.info
    write(
        "turn.ended",
        session=session,
        turn=turn,
        trace_id=trace_id,
        outcome=cost.outcome,
        limit=cost.limit,
        error=cost.error,
        steps=cost.steps,
        tool_calls=usage.tool_calls,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cached_share=round(usage.cached_tokens / usage.prompt_tokens, 3) if usage.prompt_tokens else None,
        duration_s=None if cost.duration_s is None else round(cost.duration_s, 3),
        paused_s=round(cost.paused_s, 3),
        gate_wait_s=round(cost.gate_wait_s, 3),
        first_token_s=None if first is None else round(first, 3),
    )
