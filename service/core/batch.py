"""What becomes of each call of a batch: one disposition, the first that fits (T5, T6, T7, A1, A4, G2, S4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from service.core.action import RepeatKey, action_of, repeat_key
from service.core.approvals import denied_by
from service.core.json_types import JsonObject
from service.core.local_tools import FIND_TOOL, HANDOFF_TO
from service.core.past_calls import PastCall
from service.core.records import ApprovalDecided, ChildLink, Limit, ResultStatus, ToolCall, ToolResult
from service.core.result_cap import capped, result_cap
from service.core.result_text import (
    CallOutcome,
    denied_again,
    handed_over,
    interrupted,
    over_denial_limit,
    over_repeat_limit,
    over_tool_limit,
    repeated,
    too_deep,
)
from service.core.tool_port import ToolSpec
from service.core.toolset import CheckedCall, Toolset
from service.core.turn_state import CallState, TurnState

DEEPEST_HANDOFF = 3
"""How many handoffs may follow one another downwards (G2)."""

# The second call that would be answered without being run ends the turn (T7).
_REPEATS_ALLOWED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Send the call to the tool port; `again` when it was sent before a restart and may be repeated (S4).

    `arguments` are those that it runs with, `raw` the text that the model wrote. `approval` is the decision by which it
    may run, given at `approved_at`, and `asked_by_port` says that the port wanted it and gets the call a second time
    (A1b).
    """

    spec: ToolSpec
    arguments: JsonObject
    raw: str
    again: bool = False
    approval: ApprovalDecided | None = None
    approved_at: datetime | None = None
    asked_by_port: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalNeeded:
    """Ask a person first; `arguments` are the raw text of what would run, `reason` a sentence (A1)."""

    call: ToolCall
    spec: ToolSpec
    arguments: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """Let another agent answer; `carry` of the last messages go with it. `child` is who was named before (G2)."""

    agent: str
    message: str
    carry: int
    child: ChildLink | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOn:
    """Answer from the whole text of an earlier result of the session (T9)."""

    call: int
    offset: int


Disposition = Run | ReadOn | HandOver | ApprovalNeeded | CallOutcome
"""Run it, look it up, hand it over, ask about it, or close it with an outcome of our own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """A call and its disposition."""

    call: ToolCall
    disposition: Disposition


@dataclass(frozen=True, slots=True)
class _Checked:
    """A call of the batch with what it does; `key` is None where repeats don't count."""

    state: CallState
    check: CheckedCall | CallOutcome
    key: RepeatKey | None


def plan_batch(state: TurnState, toolset: Toolset) -> tuple[PlannedCall, ...]:
    """Plan the open calls of the batch.

    A call that does the same as an earlier one of the batch is left out while that one is open: it quotes its
    result, and is planned when that is there.
    """
    allowed = state.options.limits.tool_iterations
    if state.batches > allowed:
        return _all(state, over_tool_limit(allowed))
    batch = [_checked(state, toolset, call) for call in state.batch]
    stopped = _stopped(state, batch)
    if stopped is not None:
        return stopped
    planned: list[PlannedCall] = []
    for place, call in enumerate(batch):
        if call.state.result is None:
            disposition = _disposition(state, toolset, call, batch[:place])
            if disposition is not None:
                planned.append(PlannedCall(call=call.state.call, disposition=disposition))
    return _with_one_handoff(planned)


def _with_one_handoff(planned: Sequence[PlannedCall]) -> tuple[PlannedCall, ...]:
    """Let the first handoff of a batch count; whatever else would run is not run (G2)."""
    first = next((plan for plan in planned if isinstance(plan.disposition, HandOver)), None)
    if first is None or not isinstance(first.disposition, HandOver):
        return tuple(planned)
    instead = handed_over(first.disposition.agent)
    return tuple(
        plan if plan is first or isinstance(plan.disposition, CallOutcome) else replace(plan, disposition=instead)
        for plan in planned
    )


def _all(state: TurnState, outcome: CallOutcome) -> tuple[PlannedCall, ...]:
    return tuple(PlannedCall(call=open_call.call, disposition=outcome) for open_call in state.open_calls)


def _checked(state: TurnState, toolset: Toolset, call: CallState) -> _Checked:
    check = toolset.check(call.call.name, call.call.arguments)
    if isinstance(check, CallOutcome):
        return _Checked(call, check, None)
    key = repeat_key(check.action)
    past = state.past_calls.get(key)
    counts = state.options.limits.repeat_detection and not check.spec.repeatable
    return _Checked(call, check, key if counts or (past is not None and past.is_denied) else None)


def _stopped(state: TurnState, batch: Sequence[_Checked]) -> tuple[PlannedCall, ...] | None:
    """Refuse the batch as a whole when it repeats something once too often; nothing of it has run then."""
    denials = {
        call.state.call.call: before.result
        for call in batch
        if (before := _past(state, call.key)) is not None and before.is_denied
    }
    allowed = state.options.limits.denied_repeats
    if denials and state.denied_steps + 1 >= allowed:
        texts = {number: denied_again(first, limit=Limit.DENIED_REPEATEDLY) for number, first in denials.items()}
        return tuple(
            PlannedCall(call=plan.call, disposition=texts.get(plan.call.call, plan.disposition))
            for plan in _all(state, over_denial_limit(allowed))
        )
    asked = Counter(call.key for call in batch if call.key is not None and call.state.call.call not in denials)
    for key, times in asked.items():
        before = _past(state, key)
        answered_without_run = times - 1 if before is None or before.may_run else times
        if answered_without_run + (0 if before is None else before.repeats) > _REPEATS_ALLOWED:
            return _all(state, over_repeat_limit())
    return None


def _past(state: TurnState, key: RepeatKey | None) -> PastCall | None:
    return None if key is None else state.past_calls.get(key)


def _disposition(state: TurnState, toolset: Toolset, call: _Checked, before: Sequence[_Checked]) -> Disposition | None:
    if isinstance(call.check, CallOutcome):
        return call.check
    if call.key is not None:
        past = state.past_calls.get(call.key)
        if past is not None and past.is_denied:
            return denied_again(past.result)
        twin = next((other.state for other in before if other.key == call.key), None)
        if twin is not None:
            return _as_its_twin(twin.result)
        if past is not None and not past.may_run:
            return repeated(past.result)
    return _to_run(state, toolset, call.state, call.check)


def _as_its_twin(result: ToolResult | None) -> CallOutcome | None:
    if result is None:
        return None
    # Denied comes before repeated, also when the denial has only just come (T6, A4).
    return denied_again(result) if result.status is ResultStatus.DENIED else repeated(result)


def _to_run(state: TurnState, toolset: Toolset, call: CallState, check: CheckedCall) -> Disposition:
    if check.spec.name == FIND_TOOL:
        return toolset.found(check.arguments["query"])
    if check.spec.name == HANDOFF_TO:
        return _to_hand_over(state, call, check.arguments)
    if check.spec.local:
        return ReadOn(call=int(check.arguments["call"]), offset=int(check.arguments["offset"]))
    if call.decision is not None:
        return _as_decided(toolset, call, call.decision, check)
    reason = toolset.reason_to_ask(check.spec, untrusted=state.untrusted_before)
    # What is in flight was let through before: it began when nothing had to be asked.
    if reason is not None and not call.started:
        return ApprovalNeeded(call=call.call, spec=check.spec, arguments=check.action.arguments, reason=reason)
    return _run(call, check, raw=check.action.arguments)


def _as_decided(toolset: Toolset, call: CallState, decision: ApprovalDecided, check: CheckedCall) -> Disposition:
    if not decision.approved:
        return denied_by(decision)
    if decision.arguments is not None:
        changed = toolset.check(check.action.name, decision.arguments)
        if isinstance(changed, CallOutcome):
            return changed
        return _run(call, changed, raw=check.action.arguments)
    return _run(call, check, raw=check.action.arguments)


def _run(call: CallState, check: CheckedCall, *, raw: str) -> Disposition:
    if call.started and not check.spec.idempotent:
        # It was in flight when the process ended, and nobody knows whether it ran (S4).
        return interrupted()
    return Run(
        spec=check.spec,
        arguments=check.arguments,
        raw=raw,
        again=call.started,
        approval=call.decision,
        approved_at=call.decided_at,
        asked_by_port=call.asked_by_port,
    )


def _to_hand_over(state: TurnState, call: CallState, arguments: JsonObject) -> Disposition:
    if state.depth >= DEEPEST_HANDOFF:
        return too_deep(DEEPEST_HANDOFF)
    return HandOver(
        agent=arguments["agent"],
        message=arguments["message"],
        carry=int(arguments.get("carry", 0)),
        child=call.child,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedCall:
    """The result of a call, and its whole text where the model gets less of it (T9)."""

    result: ToolResult
    whole: str | None


def close_call(call: ToolCall, outcome: CallOutcome, *, cap: int, fence: str | None = None) -> ClosedCall:
    """Give the result of a call, cut to `cap` bytes; `fence` encloses the text of an untrusted one (P6).

    It has the name of the tool that was called, also through `call_tool` (X4).
    """
    shown = capped(outcome.text, cap, call=call.call)
    result = ToolResult(
        call=call.call,
        tool_call_id=call.tool_call_id,
        name=action_of(call.name, call.arguments).name,
        status=outcome.status,
        content=shown.text,
        data_class=outcome.data_class,
        untrusted=outcome.untrusted,
        fence=fence if outcome.untrusted else None,
        truncated=outcome.cut or shown.cut,
        original_bytes=len(outcome.text.encode()),
        cap=cap,
        limit=outcome.limit,
    )
    return ClosedCall(result=result, whole=outcome.text if shown.cut else None)


def next_cap(state: TurnState, context_tokens: int | None) -> int:
    """Give the cap of the next result of the open batch; `context_tokens` is None while the server is unknown (T9)."""
    results = [call.result for call in state.batch if call.result is not None]
    return result_cap(
        state.options.limits.tool_result_cap,
        context_tokens=context_tokens,
        used_tokens=state.used_tokens,
        batch_bytes=sum(len(result.content.encode()) for result in results),
        open_calls=len(state.batch) - len(results),
    )
