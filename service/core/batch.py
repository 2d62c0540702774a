"""What becomes of each call of a batch: one disposition, the first that fits (T5, T6, S4)."""

from __future__ import annotations

from dataclasses import dataclass

from service.core.json_types import JsonObject
from service.core.records import ToolCall, ToolResult
from service.core.result_text import CallOutcome, approval_needed, interrupted, over_tool_limit
from service.core.tool_port import ToolSpec
from service.core.toolset import Toolset
from service.core.turn_state import CallState, TurnState


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Send the call to the tool port; `again` when it was sent before a restart and may be repeated (S4)."""

    spec: ToolSpec
    arguments: JsonObject
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """A call and its disposition: run it, or close it with an outcome of our own."""

    call: ToolCall
    disposition: Run | CallOutcome


def plan_batch(state: TurnState, toolset: Toolset) -> tuple[PlannedCall, ...]:
    """Plan every open call of the batch."""
    limit = state.options.limits.tool_iterations
    if state.batches > limit:
        refused = over_tool_limit(limit)
        return tuple(PlannedCall(call=open_call.call, disposition=refused) for open_call in state.open_calls)
    return tuple(
        PlannedCall(call=open_call.call, disposition=_disposition(open_call, toolset)) for open_call in state.open_calls
    )


def _disposition(open_call: CallState, toolset: Toolset) -> Run | CallOutcome:
    call = open_call.call
    checked = toolset.arguments.check(call.name, call.arguments)
    if isinstance(checked, CallOutcome):
        return checked
    spec = toolset.spec(call.name)
    if spec.needs_approval:
        # Nobody can be asked yet; a tool that wants to be asked about never runs unasked (A1).
        return approval_needed()
    if open_call.started and not spec.idempotent:
        # It was in flight when the process ended, and nobody knows whether it ran (S4).
        return interrupted()
    return Run(spec=spec, arguments=checked, again=open_call.started)


def close_call(call: ToolCall, outcome: CallOutcome, *, fence: str | None = None) -> ToolResult:
    """Give the result record of a call; `fence` encloses the text of an untrusted one (P6)."""
    return ToolResult(
        call=call.call,
        tool_call_id=call.tool_call_id,
        name=call.name,
        status=outcome.status,
        content=outcome.text,
        data_class=outcome.data_class,
        untrusted=outcome.untrusted,
        fence=fence if outcome.untrusted else None,
        truncated=outcome.cut,
        original_bytes=len(outcome.text.encode()),
    )
