"""How records change a turn's state: the fold over the table of states and inputs.

Above: `turn`, which says what happens next. Below: `turn_table`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from msgspec.structs import replace as with_changes

from service.core.errors import IllegalTransition
from service.core.ids import TurnId
from service.core.labels import higher_class
from service.core.past_calls import denied_again, with_batch
from service.core.records import (
    ApprovalDecided,
    ApprovalRequested,
    Assistant,
    Attempt,
    Entry,
    HandoffReturned,
    HandoffStarted,
    PendingCall,
    Record,
    Resumed,
    SessionCreated,
    SessionTotals,
    StepUsage,
    Summary,
    ToolCallStarted,
    ToolResult,
    TurnFinished,
    TurnQueued,
    User,
)
from service.core.turn_state import CallState, Phase, QueuedTurn, TurnState
from service.core.turn_table import OF_THE_QUEUE, TRANSITIONS, Input, classify
from service.core.usage import UsageTotals


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
    if state.turn is not None and entry.turn != state.turn and given not in OF_THE_QUEUE:
        raise IllegalTransition(f"a record of {entry.turn} at seq {entry.seq} while {state.turn} is open")
    after = advance(state, entry.record, entry.turn)
    if given is Input.USER:
        return with_changes(after, turn=entry.turn, started_at=entry.time)
    return _timed(state, after, entry)


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
    if given in OF_THE_QUEUE:
        return _queue_changed(state, record, turn)
    after = with_changes(_taken(state, record), phase=phase)
    return with_changes(after, queued=_without(after, turn)) if given is Input.USER else after


def _taken(state: TurnState, record: Record) -> TurnState:
    change = _CHANGES.get(type(record))
    return state if change is None else change(state, record)


def _queue_changed(state: TurnState, record: Record, turn: TurnId | None) -> TurnState:
    if not isinstance(record, TurnQueued):
        return with_changes(state, queued=_without(state, turn))
    assert turn is not None  # a message makes a turn, also while it waits
    waiting = QueuedTurn(turn=turn, content=record.content, options=record.options)
    return with_changes(state, queued=(*state.queued, waiting))


def _without(state: TurnState, turn: TurnId | None) -> tuple[QueuedTurn, ...]:
    return tuple(waiting for waiting in state.queued if waiting.turn != turn)


def _between_turns(state: TurnState) -> TurnState:
    return TurnState(
        totals=state.totals,
        used_tokens=state.used_tokens,
        first_prompt_tokens=state.first_prompt_tokens,
        compacted_from=state.compacted_from,
        depth=state.depth,
        queued=state.queued,
    )


def _spoken(state: TurnState, record: Assistant) -> TurnState:
    calls = tuple(CallState(call=call) for call in record.tool_calls)
    totals = replace(state.totals, next_call=state.totals.next_call + len(calls))
    return with_changes(
        state,
        step=record.step,
        failures=(),
        failed_while_thinking=False,
        batches=state.batches + (1 if calls else 0),
        batch=calls,
        untrusted_before=state.totals.untrusted_seen,
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
    if record.summary:
        return with_changes(_spent(state, usage), fruitless_summaries=state.fruitless_summaries + 1)
    counted = with_changes(
        _spent(state, usage),
        failed_while_thinking=record.discarded and record.reasoning_tokens > 0,
        resumed=0,
    )
    said = state.answer
    if record.discarded or said is None or not (said.tool_calls or said.content.strip()):
        # What isn't in the prompt fills no context.
        return counted
    return with_changes(
        counted,
        used_tokens=record.prompt_tokens + record.completion_tokens,
        first_prompt_tokens=record.prompt_tokens if record.step == 1 else state.first_prompt_tokens,
        compacted_from=0,
    )


def _spent(state: TurnState, usage: UsageTotals) -> TurnState:
    return with_changes(state, usage=state.usage + usage, totals=_add(state.totals, usage), resumed=0)


def _compacted(state: TurnState, record: Summary) -> TurnState:
    return with_changes(
        _spent(state, record.usage),
        used_tokens=record.tokens_after,
        # What the cache holds is the prompt of the last completion, however often it was compacted since (P5).
        compacted_from=state.compacted_from or state.used_tokens,
        summaries=state.summaries + 1,
    )


def _settled(state: TurnState, record: ToolResult) -> TurnState:
    totals = replace(
        state.totals,
        data_class=higher_class(state.totals.data_class, record.data_class),
        untrusted_seen=state.totals.untrusted_seen or record.untrusted,
    )
    settled = with_changes(
        _changed(state, record.call, result=record), totals=totals, stopped_by=record.limit or state.stopped_by
    )
    batch = settled.batch
    results = [(call.call, call.result) for call in batch if call.result is not None]
    if len(results) < len(batch):
        return settled
    return with_changes(
        settled,
        past_calls=with_batch(state.past_calls, results),
        denied_steps=state.denied_steps + (1 if denied_again(state.past_calls, results) else 0),
    )


def _begun(state: TurnState, record: SessionCreated) -> TurnState:
    totals = replace(state.totals, data_class=record.data_class, untrusted_seen=record.untrusted)
    return with_changes(state, totals=totals, depth=record.depth)


def _asked(state: TurnState, asked: PendingCall) -> TurnState:
    by_port = any(call.call.call == asked.call and call.started for call in state.batch)
    # It is in flight no longer: the port, if it was asked, did nothing (A1b).
    return _changed(state, asked.call, started=False, asked=asked, asked_by_port=by_port)


def _changed(state: TurnState, number: int, **changes: Any) -> TurnState:
    batch = tuple(replace(call, **changes) if call.call.call == number else call for call in state.batch)
    return with_changes(state, batch=batch, resumed=0)


def _timed(before: TurnState, after: TurnState, entry: Entry) -> TurnState:
    """Take what only the time of a record tells: when a wait for people began, how long it was, when it was decided."""
    if isinstance(entry.record, ApprovalDecided):
        after = _changed(after, entry.record.call, decided_at=entry.time)
    waited, waits = before.phase is Phase.AWAITING_APPROVAL, after.phase is Phase.AWAITING_APPROVAL
    if waits and not waited:
        return with_changes(after, paused_at=entry.time)
    if waited and not waits and before.paused_at is not None:
        paused_s = after.paused_s + (entry.time - before.paused_at).total_seconds()
        return with_changes(after, paused_at=None, paused_s=paused_s)
    return after


def _add(totals: SessionTotals, usage: UsageTotals) -> SessionTotals:
    return replace(totals, usage=totals.usage + usage)


def _failed(state: TurnState, record: Attempt) -> TurnState:
    return with_changes(state, failures=(*state.failures, record.kind), resumed=0)


def _requested(state: TurnState, record: ApprovalRequested) -> TurnState:
    for asked in record.calls:
        state = _asked(state, asked)
    return state


def _taken_up(state: TurnState, record: User) -> TurnState:
    return with_changes(_between_turns(state), options=record.options)


def _ended(state: TurnState, record: TurnFinished) -> TurnState:
    return with_changes(_between_turns(state), totals=record.totals)


# Any record of the turn but `resumed` is progress: the count of restarts in vain begins anew (S4).
_CHANGES: dict[type[Record], Callable[[TurnState, Any], TurnState]] = {
    SessionCreated: _begun,
    User: _taken_up,
    Assistant: _spoken,
    StepUsage: _counted,
    Attempt: _failed,
    ToolCallStarted: lambda state, record: _changed(state, record.call, started=True),
    ApprovalRequested: _requested,
    ApprovalDecided: lambda state, record: _changed(state, record.call, decision=record),
    HandoffStarted: lambda state, record: _changed(state, record.call, started=True, child=record.child),
    HandoffReturned: lambda state, record: with_changes(state, paused_s=state.paused_s + record.waited_s, resumed=0),
    Summary: _compacted,
    ToolResult: _settled,
    Resumed: lambda state, record: with_changes(state, resumed=record.attempt),
    TurnFinished: _ended,
}
"""What each kind of record changes; the others change nothing."""
