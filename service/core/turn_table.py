"""The table of a turn's states and inputs, and what a record means as an input.

The table is data. The fold runs it, tests walk every cell of it, the illegal ones too, and `docs/turn-states.md` is
made from it. Above: `turn_fold`. Below: `turn_state`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from service.core.errors import IllegalTransition
from service.core.ids import TurnId
from service.core.records import (
    ApprovalDecided,
    ApprovalRequested,
    Assistant,
    Attempt,
    CacheLoss,
    HandoffReturned,
    HandoffStarted,
    OnToolLimit,
    Record,
    Resumed,
    SessionCreated,
    StepUsage,
    Summary,
    ToolCallStarted,
    ToolResult,
    TurnFinished,
    TurnQueued,
    User,
)
from service.core.turn_state import Phase, TurnState


class Input(StrEnum):
    """What a record means to the machine."""

    CREATED = "created"
    QUEUED = "queued"
    QUEUED_ENDED = "queued_ended"
    USER = "user"
    ANSWER = "answer"
    CALLS = "calls"
    USAGE = "usage"
    SUMMARY_USAGE = "summary_usage"
    SUMMARY = "summary"
    CACHE_LOSS = "cache_loss"
    ATTEMPT = "attempt"
    CALL_STARTED = "call_started"
    APPROVAL_REQUESTED = "approval_requested"
    DECISION = "decision"
    LAST_DECISION = "last_decision"
    HANDOFF_STARTED = "handoff_started"
    HANDOFF_RETURNED = "handoff_returned"
    RESULT = "result"
    RESULT_ENDS_WAIT = "result_ends_wait"
    LAST_RESULT = "last_result"
    LAST_RESULT_OVER_LIMIT = "last_result_over_limit"
    RESUMED = "resumed"
    FINISHED = "finished"


TRANSITIONS: dict[tuple[Phase, Input], Phase] = {
    # Whatever runs, a message may be put behind it, and taken out of the queue again.
    **{(phase, given): phase for phase in Phase for given in (Input.QUEUED, Input.QUEUED_ENDED)},
    (Phase.IDLE, Input.CREATED): Phase.IDLE,
    (Phase.IDLE, Input.USER): Phase.ASKING,
    # A fold may begin at the end of the turn before.
    (Phase.IDLE, Input.FINISHED): Phase.IDLE,
    # A summary is made between turns or between steps, never while a call is open (C1).
    **{(phase, given): phase for phase in (Phase.IDLE, Phase.ASKING) for given in (Input.SUMMARY, Input.SUMMARY_USAGE)},
    (Phase.ASKING, Input.ANSWER): Phase.ENDING,
    (Phase.ASKING, Input.CALLS): Phase.CALLING,
    (Phase.ASKING, Input.USAGE): Phase.ASKING,
    (Phase.ASKING, Input.ATTEMPT): Phase.ASKING,
    (Phase.ASKING, Input.RESUMED): Phase.ASKING,
    (Phase.ASKING, Input.FINISHED): Phase.IDLE,
    (Phase.CALLING, Input.USAGE): Phase.CALLING,
    (Phase.CALLING, Input.CACHE_LOSS): Phase.CALLING,
    (Phase.CALLING, Input.CALL_STARTED): Phase.CALLING,
    (Phase.CALLING, Input.HANDOFF_STARTED): Phase.CALLING,
    (Phase.CALLING, Input.HANDOFF_RETURNED): Phase.CALLING,
    (Phase.CALLING, Input.APPROVAL_REQUESTED): Phase.AWAITING_APPROVAL,
    (Phase.CALLING, Input.RESULT): Phase.CALLING,
    (Phase.CALLING, Input.LAST_RESULT): Phase.ASKING,
    (Phase.CALLING, Input.LAST_RESULT_OVER_LIMIT): Phase.ENDING,
    (Phase.CALLING, Input.RESUMED): Phase.CALLING,
    (Phase.AWAITING_APPROVAL, Input.DECISION): Phase.AWAITING_APPROVAL,
    (Phase.AWAITING_APPROVAL, Input.LAST_DECISION): Phase.CALLING,
    # Results without a decision: approvals that expired, or the end of the turn (A3, T13).
    (Phase.AWAITING_APPROVAL, Input.RESULT): Phase.AWAITING_APPROVAL,
    (Phase.AWAITING_APPROVAL, Input.RESULT_ENDS_WAIT): Phase.CALLING,
    (Phase.AWAITING_APPROVAL, Input.LAST_RESULT): Phase.ASKING,
    (Phase.ENDING, Input.USAGE): Phase.ENDING,
    (Phase.ENDING, Input.CACHE_LOSS): Phase.ENDING,
    (Phase.ENDING, Input.RESUMED): Phase.ENDING,
    (Phase.ENDING, Input.FINISHED): Phase.IDLE,
}
"""Every legal cell; what isn't here is a defect and raises."""


def classify(state: TurnState, record: Record, turn: TurnId | None = None) -> Input:
    """Say what a record means in this state; `turn` is the one that it belongs to, None for the one that is open.

    Raises:
        IllegalTransition: a result or a start of a call that is not open.
    """
    find = _BY_STATE.get(type(record))
    if find is not None:
        return find(state, record)
    if isinstance(record, TurnFinished) and turn in state.waiting_turns:
        return Input.QUEUED_ENDED
    return _ALWAYS[type(record)]


_ALWAYS: dict[type[Record], Input] = {
    SessionCreated: Input.CREATED,
    TurnQueued: Input.QUEUED,
    User: Input.USER,
    Summary: Input.SUMMARY,
    CacheLoss: Input.CACHE_LOSS,
    Attempt: Input.ATTEMPT,
    Resumed: Input.RESUMED,
    TurnFinished: Input.FINISHED,
}
"""Records that mean the same in every state."""

OF_THE_QUEUE = frozenset({Input.QUEUED, Input.QUEUED_ENDED})


def _of_open_call(state: TurnState, call: int, given: Input) -> Input:
    in_batch = state.phase in (Phase.CALLING, Phase.AWAITING_APPROVAL)
    if in_batch and call not in {open_call.call.call for open_call in state.open_calls}:
        raise IllegalTransition(f"{given} of call {call}, which is not open")
    return given


def _decision_input(state: TurnState, decided: ApprovalDecided) -> Input:
    waiting = {pending.call.call for pending in state.pending_calls}
    if decided.call not in waiting:
        raise IllegalTransition(f"a decision on call {decided.call}, which waits for none")
    return Input.LAST_DECISION if len(waiting) == 1 else Input.DECISION


def _result_input(state: TurnState, result: ToolResult) -> Input:
    _of_open_call(state, result.call, Input.RESULT)
    if len(state.open_calls) > 1:
        waiting = {call.call.call for call in state.pending_calls}
        return Input.RESULT_ENDS_WAIT if waiting == {result.call} else Input.RESULT
    # A turn that concludes is asked for one more answer, without calls.
    over = result.limit is not None and state.options.on_tool_limit is OnToolLimit.STOP
    return Input.LAST_RESULT_OVER_LIMIT if over else Input.LAST_RESULT


def _assistant_input(_: TurnState, said: Assistant) -> Input:
    return Input.CALLS if said.tool_calls else Input.ANSWER


def _usage_input(_: TurnState, usage: StepUsage) -> Input:
    return Input.SUMMARY_USAGE if usage.summary else Input.USAGE


def _requested_input(state: TurnState, requested: ApprovalRequested) -> Input:
    for asked in requested.calls:
        _of_open_call(state, asked.call, Input.APPROVAL_REQUESTED)
    return Input.APPROVAL_REQUESTED


_BY_STATE: dict[type[Record], Callable[[TurnState, Any], Input]] = {
    Assistant: _assistant_input,
    StepUsage: _usage_input,
    ToolCallStarted: lambda state, started: _of_open_call(state, started.call, Input.CALL_STARTED),
    HandoffStarted: lambda state, started: _of_open_call(state, started.call, Input.HANDOFF_STARTED),
    HandoffReturned: lambda state, returned: _of_open_call(state, returned.call, Input.HANDOFF_RETURNED),
    ApprovalRequested: _requested_input,
    ApprovalDecided: _decision_input,
    ToolResult: _result_input,
}
"""Records whose meaning depends on what they hold, or on the calls that are open."""
