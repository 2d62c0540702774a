"""Runs the calls of one batch at the same time, each result appended as it arrives (T6, T8, T9, A1b, G2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from service.access.model_server import ModelServer
from service.core.approvals import asked_by_port, not_signed, with_changed_arguments
from service.core.batch import ApprovalNeeded, HandOver, PlannedCall, ReadOn, Run, close_call, next_cap
from service.core.handoff import outcome_of_child
from service.core.ids import SessionId, TurnId
from service.core.local_tools import HANDOFF_TO
from service.core.records import Record, ResultStatus, ToolCall, ToolCallStarted
from service.core.result_cap import page_of
from service.core.result_text import CallOutcome, nothing_to_read, outcome_of
from service.core.tool_port import AnswerStatus, CallApproval, ToolRequest
from service.core.trace_context import TraceContext
from service.core.turn import with_its_end
from service.ports import Ids, SessionLog, ToolPort
from service.ports.tracer import ToolCalled, ToolSpan
from service.turns.approvals import Approvals
from service.turns.handoffs import Handoffs
from service.turns.live_session import LiveSession


class BatchRunner:
    """Sends planned calls to the tool port, reads on in earlier results, and closes the others with their text."""

    def __init__(
        self,
        port: ToolPort,
        log: SessionLog,
        server: ModelServer,
        ids: Ids,
        approvals: Approvals,
        handoffs: Handoffs,
        *,
        concurrency: int,
    ) -> None:
        self._port = port
        self._approvals = approvals
        self._handoffs = handoffs
        self._log = log
        self._server = server
        self._ids = ids
        self._concurrency = concurrency

    async def run(self, live: LiveSession, calls: Sequence[PlannedCall]) -> None:
        """Close every planned call with a result, local ones at once.

        Raises:
            StoreFailure: a record could not be kept; calls in flight are aborted.
        """
        known: list[tuple[ToolCall, CallOutcome]] = []
        running: list[tuple[ToolCall, Run]] = []
        handed_over: list[tuple[ToolCall, HandOver]] = []
        for plan in calls:
            match plan.disposition:
                case CallOutcome() as outcome:
                    known.append((plan.call, outcome))
                case ReadOn() as wanted:
                    known.append((plan.call, await self._read_on(live, wanted)))
                case Run() as run:
                    fault = self._approvals.fault_of(live, plan.call, run)
                    if fault is None:
                        running.append((plan.call, run))
                    else:
                        known.append((plan.call, not_signed(fault)))
                case HandOver() as handover:
                    handed_over.append((plan.call, handover))
                case ApprovalNeeded():  # pragma: no cover - the machine asks about these before it runs a batch
                    raise AssertionError("a batch runs when nothing of it needs an approval")
        if known:
            await self._close_known(live, known)
        await self._run_all(live, running)
        for call, handover in handed_over:
            await self._hand_over(live, call, handover)

    async def _close_known(self, live: LiveSession, known: Sequence[tuple[ToolCall, CallOutcome]]) -> None:
        for call, outcome in known:
            with _span(live, call, call.name, call.arguments) as span:
                span.ended(outcome.status, outcome.text)
        await self._close(live, *known)

    async def _run_all(self, live: LiveSession, calls: Sequence[tuple[ToolCall, Run]]) -> None:
        limit = asyncio.Semaphore(self._concurrency)
        tasks = [
            asyncio.create_task(self._run(live, call, run, limit), name=f"call {live.id}/{call.call}")
            for call, run in calls
        ]
        # The port may want approvals of its own; people are asked when the other calls have ended (A1b).
        asked = [needed for needed in await _all_or_none(tasks) if needed is not None]
        if asked:
            await self._approvals.request(live, asked)

    async def _run(
        self, live: LiveSession, call: ToolCall, run: Run, limit: asyncio.Semaphore
    ) -> ApprovalNeeded | None:
        turn = live.state.turn
        assert turn is not None  # a batch belongs to a turn
        async with limit:
            if not run.again:
                await live.append(
                    ToolCallStarted(
                        call=call.call, tool_call_id=call.tool_call_id, name=run.spec.name, arguments=_raw(run)
                    )
                )
            with _span(live, call, run.spec.name, _raw(run)) as span:
                answer = await self._port.call(_request(live.id, turn, call, run, span.context))
                span.ended(answer.status, answer.text)
            if answer.status is AnswerStatus.PENDING_APPROVAL and run.approval is None:
                return ApprovalNeeded(call=call, spec=run.spec, arguments=run.raw, reason=asked_by_port(answer.text))
            outcome = outcome_of(answer, run.spec)
            if run.approval is not None and run.approval.arguments is not None:
                outcome = with_changed_arguments(outcome, run.approval.arguments)
            await self._close(live, (call, outcome))
            return None

    async def _hand_over(self, live: LiveSession, call: ToolCall, handover: HandOver) -> None:
        with _span(live, call, HANDOFF_TO, call.arguments) as span:
            returned = await self._handoffs.run(live, call, handover, span.context)
            outcome = outcome_of_child(returned)
            span.ended(outcome.status, outcome.text)
        await self._close(live, (call, outcome), before=returned.record)

    async def _close(
        self, live: LiveSession, *ended: tuple[ToolCall, CallOutcome], before: Record | None = None
    ) -> None:
        cap = self._next_cap(live)
        closed = [close_call(call, outcome, cap=cap, fence=self._fence(outcome)) for call, outcome in ended]
        wholes = {one.result.call: one.whole for one in closed if one.whole is not None}
        records: tuple[Record, ...] = tuple(one.result for one in closed)
        if any(outcome.limit is not None for _, outcome in ended):
            # The whole batch was refused, and the turn ends with it unless it owes an answer.
            records = with_its_end(live.state, records, live.toolset)
        await live.append(*(() if before is None else (before,)), *records, wholes=wholes)

    async def _read_on(self, live: LiveSession, wanted: ReadOn) -> CallOutcome:
        cut = live.cut_results.get(wanted.call)
        if cut is None:
            return nothing_to_read(wanted.call)
        whole = cut.text
        if whole is None:
            kept = await self._log.full_text(live.id, cut.seq)
            whole = None if kept is None else kept.decode()
        if whole is None:
            return nothing_to_read(wanted.call)
        text = page_of(whole, call=wanted.call, offset=wanted.offset, cap=self._next_cap(live))
        return CallOutcome(status=ResultStatus.OK, text=text, data_class=cut.data_class, untrusted=cut.untrusted)

    def _next_cap(self, live: LiveSession) -> int:
        return next_cap(live.state, self._server.context_tokens)

    def _fence(self, outcome: CallOutcome) -> str | None:
        if not outcome.untrusted or outcome.fence is not None:
            return outcome.fence
        while (fence := self._ids.fence()) in outcome.text:
            pass
        return fence


def _raw(run: Run) -> str:
    changed = None if run.approval is None else run.approval.arguments
    return run.raw if changed is None else changed


def _span(live: LiveSession, call: ToolCall, tool: str, arguments: str) -> ToolSpan:
    assert live.span is not None  # the turn runs
    called = ToolCalled(name=tool, tool_call_id=call.tool_call_id, call=call.call, arguments=arguments)
    return live.span.tool(called)


def _request(session: SessionId, turn: TurnId, call: ToolCall, run: Run, trace: TraceContext) -> ToolRequest:
    key = f"{session}/{call.call}"
    return ToolRequest(
        session=session,
        turn=turn,
        call=call.call,
        tool=run.spec.name,
        arguments=run.arguments,
        timeout_ms=run.spec.timeout_ms,
        # The port has seen the plain key, when it asked for the approval (A1b).
        idempotency_key=f"{key}/approved" if run.asked_by_port else key,
        trace=trace,
        approval=_told(run),
    )


def _told(run: Run) -> CallApproval | None:
    decision, at = run.approval, run.approved_at
    if decision is None or at is None:
        return None
    return CallApproval(by=decision.by, reason=decision.reason, digest=decision.digest, decided_at=at)


async def _all_or_none(tasks: Sequence[asyncio.Task[ApprovalNeeded | None]]) -> Sequence[ApprovalNeeded | None]:
    # Not a TaskGroup: its exception groups would hide the one StoreFailure that the turn is ended with.
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
