"""THE machine: given a turn's state, what happens next (T1, T4, T5, T6, T7, A4, T12).

`next_effect` is asked after every append, and again after a crash, an approval or a restart: the same state gives
the same answer. What comes out of an effect goes into the log as records that the functions of `turn_records`
make, and the fold takes them from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from service.core.batch import ApprovalNeeded, PlannedCall, plan_batch
from service.core.errors import ErrorKind
from service.core.records import Limit, OnToolLimit, Record, ToolChoice, TurnFinished
from service.core.toolset import Toolset
from service.core.turn_fold import advance
from service.core.turn_records import finished
from service.core.turn_state import Phase, TurnState


@dataclass(frozen=True, slots=True, kw_only=True)
class AskModel:
    """Ask for the completion of this step; `retry_of` is the failure that the same step had before."""

    step: int
    tool_choice: ToolChoice
    retry_of: ErrorKind | None = None
    after_thought_only: bool = False

    @property
    def alone(self) -> bool:
        """Whether nothing else of ours may run beside it: the slots' shared cache overflowed before (L7)."""
        return self.retry_of is ErrorKind.CONTEXT_FULL


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBatch:
    """Run or answer these calls, each in the way that its plan says."""

    calls: tuple[PlannedCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """Append the end of the turn."""

    record: TurnFinished


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestApproval:
    """Ask people about these calls; nothing of their batch runs before that (A1)."""

    calls: tuple[ApprovalNeeded, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitDecision:
    """Wait until every call has been decided on, or until the first of them expires; None when none does (A6)."""

    until: datetime | None


Effect = AskModel | RunBatch | RequestApproval | AwaitDecision | Finish


def next_effect(state: TurnState, toolset: Toolset) -> Effect | None:
    """Say what the turn does next; None when no turn is in progress."""
    match state.phase:
        case Phase.IDLE:
            return None
        case Phase.ASKING:
            return AskModel(
                step=state.step + 1,
                tool_choice=tool_choice(state, toolset),
                retry_of=state.failed_by,
                after_thought_only=state.failed_while_thinking,
            )
        case Phase.CALLING:
            planned = plan_batch(state, toolset)
            asked = tuple(call.disposition for call in planned if isinstance(call.disposition, ApprovalNeeded))
            return RequestApproval(calls=asked) if asked else RunBatch(calls=planned)
        case Phase.AWAITING_APPROVAL:
            return AwaitDecision(until=_earliest_end(state))
        case Phase.ENDING:  # pragma: no branch - no kind is left
            return Finish(record=finished(state, limit=_limit(state, toolset)))


def with_its_end(state: TurnState, records: tuple[Record, ...], toolset: Toolset) -> tuple[Record, ...]:
    """Add the turn's end to records that settle its outcome: they are kept in one write, or none is."""
    for record in records:
        state = advance(state, record)
    effect = next_effect(state, toolset)
    return (*records, effect.record) if isinstance(effect, Finish) else records


def tool_choice(state: TurnState, toolset: Toolset) -> ToolChoice:
    """Give the tool choice of the next step.

    `required` holds for the first step only (P3); the step behind the last allowed batch, or behind one that a limit
    kept from running, concludes (T5).
    """
    if concluding(state, toolset):
        return ToolChoice.NONE
    if state.options.tool_choice is ToolChoice.REQUIRED and state.step > 0:
        return ToolChoice.AUTO
    return state.options.tool_choice


def concluding(state: TurnState, toolset: Toolset) -> bool:
    """Say whether a limit was reached and the turn now owes an answer without calls (T5)."""
    options = state.options
    # A model may call tools where there are none; those batches count as well.
    spent = state.stopped_by is not None or (len(toolset) > 0 and state.batches >= options.limits.tool_iterations)
    return spent and options.on_tool_limit is OnToolLimit.CONCLUDE


def time_left_s(state: TurnState, now: datetime) -> float | None:
    """Give the seconds that the open turn may still take; None when nothing bounds it (T12).

    They count from its `user`, also over a restart, less the time in which people were waited for.
    """
    allowed = state.options.limits.turn_time_s
    if state.started_at is None or allowed == 0:
        return None
    return allowed + waited_s(state, now) - (now - state.started_at).total_seconds()


def waited_s(state: TurnState, now: datetime) -> float:
    """Give the seconds for which the open turn has waited for people, the wait that goes on among them."""
    waits_s = 0.0 if state.paused_at is None else (now - state.paused_at).total_seconds()
    return state.paused_s + waits_s


def _earliest_end(state: TurnState) -> datetime | None:
    ends = [call.asked.expires_at for call in state.pending_calls if call.asked is not None]
    return min((end for end in ends if end is not None), default=None)


def _limit(state: TurnState, toolset: Toolset) -> Limit | None:
    if state.stopped_by is not None:
        return state.stopped_by
    return Limit.TOOL_ITERATIONS if concluding(state, toolset) else None
