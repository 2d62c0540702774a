"""How records change a turn's state: the table of states and inputs, and the fold over it.

The table is data. Code runs it, tests walk every cell of it, the illegal ones too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum

from service.core.errors import IllegalTransition
from service.core.ids import TurnId
from service.core.labels import higher_class
from service.core.past_calls import denied_again, with_batch
from service.core.records import (
    Assistant,
    Attempt,
    CacheLoss,
    Entry,
    OnToolLimit,
    Record,
    Resumed,
    SessionCreated,
    SessionTotals,
    StepUsage,
    ToolCallStarted,
    ToolResult,
    TurnFinished,
    TurnQueued,
    User,
)
from service.core.turn_state import CallState, Phase, QueuedTurn, TurnState
from service.core.usage import UsageTotals


class Input(StrEnum):
    """What a record means to the machine."""

    CREATED = "created"
    QUEUED = "queued"
    QUEUED_ENDED = "queued_ended"
    USER = "user"
    ANSWER = "answer"
    CALLS = "calls"
    USAGE = "usage"
    CACHE_LOSS = "cache_loss"
    ATTEMPT = "attempt"
    CALL_STARTED = "call_started"
    RESULT = "result"
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
    (Phase.ASKING, Input.ANSWER): Phase.ENDING,
    (Phase.ASKING, Input.CALLS): Phase.CALLING,
    (Phase.ASKING, Input.USAGE): Phase.ASKING,
    (Phase.ASKING, Input.ATTEMPT): Phase.ASKING,
    (Phase.ASKING, Input.RESUMED): Phase.ASKING,
    (Phase.ASKING, Input.FINISHED): Phase.IDLE,
    (Phase.CALLING, Input.USAGE): Phase.CALLING,
    (Phase.CALLING, Input.CACHE_LOSS): Phase.CALLING,
    (Phase.CALLING, Input.CALL_STARTED): Phase.CALLING,
    (Phase.CALLING, Input.RESULT): Phase.CALLING,
    (Phase.CALLING, Input.LAST_RESULT): Phase.ASKING,
    (Phase.CALLING, Input.LAST_RESULT_OVER_LIMIT): Phase.ENDING,
    (Phase.CALLING, Input.RESUMED): Phase.CALLING,
    (Phase.ENDING, Input.USAGE): Phase.ENDING,
    (Phase.ENDING, Input.CACHE_LOSS): Phase.ENDING,
    (Phase.ENDING, Input.RESUMED): Phase.ENDING,
    (Phase.ENDING, Input.FINISHED): Phase.IDLE,
}
"""Every legal cell; what isn't here is a defect and raises."""


def fold(entries: Iterable[Entry], *, used_tokens: int = 0) -> TurnState:
    """Fold a session's records into its turn state, from `session_created` or a `turn_finished` on.

    `used_tokens` is what the session's row kept of the time before the first of these records.
    """
    state = TurnState(used_tokens=used_tokens)
    for entry in entries:
        state = apply(state, entry)
    return state


def apply(state: TurnState, entry: Entry) -> TurnState:
    """Take one entry of the log.

    Raises:
        IllegalTransition: the table has no such cell, or the record belongs to another turn or to no open call.
    """
    given = classify(state, entry.record, entry.turn)
    if state.turn is not None and entry.turn != state.turn and given not in _OF_THE_QUEUE:
        raise IllegalTransition(f"a record of {entry.turn} at seq {entry.seq} while {state.turn} is open")
    after = advance(state, entry.record, entry.turn)
    return replace(after, turn=entry.turn, started_at=entry.time) if given is Input.USER else after


def advance(state: TurnState, record: Record, turn: TurnId | None = None) -> TurnState:
    """Take one record; of `turn`, or of the turn that is open.

    Raises:
        IllegalTransition: the table has no such cell, or the record belongs to no open call.
    """
    given = classify(state, record, turn)
    try:
        phase = TRANSITIONS[state.phase, given]
    except KeyError:
        raise IllegalTransition(f"{given} while {state.phase}") from None
    if given in _OF_THE_QUEUE:
        return _queue_changed(state, record, turn)
    return replace(_taken(state, record, turn), phase=phase)


def classify(state: TurnState, record: Record, turn: TurnId | None = None) -> Input:
    """Say what a record means in this state; `turn` is the one that it belongs to, None for the one that is open.

    Raises:
        IllegalTransition: a result or a start of a call that is not open.
    """
    match record:
        case Assistant(tool_calls=calls):
            return Input.CALLS if calls else Input.ANSWER
        case ToolCallStarted(call=call):
            return _of_open_call(state, call, Input.CALL_STARTED)
        case ToolResult(call=call):
            return _of_open_call(state, call, _result_input(state, record))
        case TurnFinished():
            return Input.QUEUED_ENDED if turn in state.waiting_turns else Input.FINISHED
        case _:
            return _ALWAYS[type(record)]


_ALWAYS: dict[type[Record], Input] = {
    SessionCreated: Input.CREATED,
    TurnQueued: Input.QUEUED,
    User: Input.USER,
    StepUsage: Input.USAGE,
    CacheLoss: Input.CACHE_LOSS,
    Attempt: Input.ATTEMPT,
    Resumed: Input.RESUMED,
}
"""Records that mean the same in every state."""

_OF_THE_QUEUE = frozenset({Input.QUEUED, Input.QUEUED_ENDED})


def _of_open_call(state: TurnState, call: int, given: Input) -> Input:
    if state.phase is Phase.CALLING and call not in {open_call.call.call for open_call in state.open_calls}:
        raise IllegalTransition(f"{given} of call {call}, which is not open")
    return given


def _result_input(state: TurnState, result: ToolResult) -> Input:
    if len(state.open_calls) > 1:
        return Input.RESULT
    # A turn that concludes is asked for one more answer, without calls.
    over = result.limit is not None and state.options.on_tool_limit is OnToolLimit.STOP
    return Input.LAST_RESULT_OVER_LIMIT if over else Input.LAST_RESULT


def _taken(state: TurnState, record: Record, turn: TurnId | None) -> TurnState:
    # Any record of the turn but `resumed` is progress: the count of restarts in vain begins anew (S4).
    match record:
        case User(options=options):
            return replace(_between_turns(state), options=options, queued=_without(state, turn))
        case Assistant():
            return _spoken(state, record)
        case StepUsage():
            return _counted(state, record)
        case Attempt():
            return replace(state, failures=(*state.failures, record.kind), resumed=0)
        case ToolCallStarted(call=call):
            return replace(state, batch=_with(state, call, started=True), resumed=0)
        case ToolResult():
            return _settled(state, record)
        case Resumed(attempt=attempt):
            return replace(state, resumed=attempt)
        case TurnFinished(totals=totals):
            return replace(_between_turns(state), totals=totals)
        case _:
            return state


def _queue_changed(state: TurnState, record: Record, turn: TurnId | None) -> TurnState:
    if not isinstance(record, TurnQueued):
        return replace(state, queued=_without(state, turn))
    assert turn is not None  # a message makes a turn, also while it waits
    waiting = QueuedTurn(turn=turn, content=record.content, options=record.options)
    return replace(state, queued=(*state.queued, waiting))


def _without(state: TurnState, turn: TurnId | None) -> tuple[QueuedTurn, ...]:
    return tuple(waiting for waiting in state.queued if waiting.turn != turn)


def _between_turns(state: TurnState) -> TurnState:
    return TurnState(
        totals=state.totals,
        used_tokens=state.used_tokens,
        first_prompt_tokens=state.first_prompt_tokens,
        queued=state.queued,
    )


def _spoken(state: TurnState, record: Assistant) -> TurnState:
    calls = tuple(CallState(call=call) for call in record.tool_calls)
    totals = replace(state.totals, next_call=state.totals.next_call + len(calls))
    return replace(
        state,
        step=record.step,
        failures=(),
        failed_while_thinking=False,
        batches=state.batches + (1 if calls else 0),
        batch=calls,
        answer=record,
        totals=_add(totals, UsageTotals(tool_calls=len(calls))),
        usage=state.usage + UsageTotals(tool_calls=len(calls)),
        resumed=0,
    )


def _counted(state: TurnState, record: StepUsage) -> TurnState:
    usage = UsageTotals(
        prompt_tokens=record.prompt_tokens,
        cached_tokens=record.cached_tokens,
        completion_tokens=record.completion_tokens,
        reasoning_tokens=record.reasoning_tokens,
        completions=1,
    )
    counted = replace(
        state,
        usage=state.usage + usage,
        totals=_add(state.totals, usage),
        failed_while_thinking=record.discarded and record.reasoning_tokens > 0,
        resumed=0,
    )
    said = state.answer
    if record.discarded or said is None or not (said.tool_calls or said.content.strip()):
        # What isn't in the prompt fills no context.
        return counted
    return replace(
        counted,
        used_tokens=record.prompt_tokens + record.completion_tokens,
        first_prompt_tokens=record.prompt_tokens if record.step == 1 else state.first_prompt_tokens,
    )


def _settled(state: TurnState, record: ToolResult) -> TurnState:
    totals = replace(
        state.totals,
        data_class=higher_class(state.totals.data_class, record.data_class),
        untrusted_seen=state.totals.untrusted_seen or record.untrusted,
    )
    batch = _with(state, record.call, result=record)
    settled = replace(state, batch=batch, totals=totals, stopped_by=record.limit or state.stopped_by, resumed=0)
    results = [(call.call, call.result) for call in batch if call.result is not None]
    if len(results) < len(batch):
        return settled
    return replace(
        settled,
        past_calls=with_batch(state.past_calls, results),
        denied_steps=state.denied_steps + (1 if denied_again(state.past_calls, results) else 0),
    )


def _with(
    state: TurnState, number: int, *, started: bool = False, result: ToolResult | None = None
) -> tuple[CallState, ...]:
    return tuple(
        replace(call, started=call.started or started, result=result or call.result)
        if call.call.call == number
        else call
        for call in state.batch
    )


def _add(totals: SessionTotals, usage: UsageTotals) -> SessionTotals:
    return replace(totals, usage=totals.usage + usage)
