"""Runs the calls of one batch at the same time, each result appended as it arrives (T6, T8, T9)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from service.core.action import action_of
from service.core.batch import PlannedCall, ReadOn, Run, close_call, next_cap
from service.core.records import Record, ResultStatus, ToolCall, ToolCallStarted
from service.core.result_cap import page_of
from service.core.result_text import CallOutcome, nothing_to_read, outcome_of
from service.core.tool_port import ToolRequest
from service.core.turn import with_its_end
from service.ports import Ids, SessionLog, ToolPort
from service.turns.live_session import LiveSession
from service.turns.model_server import ModelServer


class BatchRunner:
    """Sends planned calls to the tool port, reads on in earlier results, and closes the others with their text."""

    def __init__(self, port: ToolPort, log: SessionLog, server: ModelServer, ids: Ids, *, concurrency: int) -> None:
        self._port = port
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
        for plan in calls:
            if isinstance(plan.disposition, CallOutcome):
                known.append((plan.call, plan.disposition))
            elif isinstance(plan.disposition, ReadOn):
                known.append((plan.call, await self._read_on(live, plan.disposition)))
        if known:
            await self._close(live, *known)
        limit = asyncio.Semaphore(self._concurrency)
        tasks = [
            asyncio.create_task(
                self._run(live, plan.call, plan.disposition, limit), name=f"call {live.id}/{plan.call.call}"
            )
            for plan in calls
            if isinstance(plan.disposition, Run)
        ]
        await _all_or_none(tasks)

    async def _run(self, live: LiveSession, call: ToolCall, run: Run, limit: asyncio.Semaphore) -> None:
        turn = live.state.turn
        assert turn is not None  # a batch belongs to a turn
        async with limit:
            if not run.again:
                await live.append(_started(call))
            request = ToolRequest(
                session=live.id,
                turn=turn,
                call=call.call,
                tool=run.spec.name,
                arguments=run.arguments,
                timeout_ms=run.spec.timeout_ms,
                idempotency_key=f"{live.id}/{call.call}",
            )
            answer = await self._port.call(request)
            await self._close(live, (call, outcome_of(answer, run.spec)))

    async def _close(self, live: LiveSession, *ended: tuple[ToolCall, CallOutcome]) -> None:
        cap = self._next_cap(live)
        closed = [close_call(call, outcome, cap=cap, fence=self._fence(outcome)) for call, outcome in ended]
        wholes = {one.result.call: one.whole for one in closed if one.whole is not None}
        records: tuple[Record, ...] = tuple(one.result for one in closed)
        if any(outcome.limit is not None for _, outcome in ended):
            # The whole batch was refused, and the turn ends with it unless it owes an answer.
            records = with_its_end(live.state, records, live.toolset)
        await live.append(*records, wholes=wholes)

    async def _read_on(self, live: LiveSession, wanted: ReadOn) -> CallOutcome:
        cut = live.cut_results.get(wanted.call)
        whole = await self._log.full_text(live.id, cut.seq) if cut is not None else None
        if cut is None or whole is None:
            return nothing_to_read(wanted.call)
        text = page_of(whole.decode(), call=wanted.call, offset=wanted.offset, cap=self._next_cap(live))
        return CallOutcome(status=ResultStatus.OK, text=text, data_class=cut.data_class, untrusted=cut.untrusted)

    def _next_cap(self, live: LiveSession) -> int:
        return next_cap(live.state, self._server.context_tokens)

    def _fence(self, outcome: CallOutcome) -> str | None:
        if not outcome.untrusted or outcome.fence is not None:
            return outcome.fence
        while (fence := self._ids.fence()) in outcome.text:
            pass
        return fence


def _started(call: ToolCall) -> ToolCallStarted:
    # What runs, also through `call_tool` (X4).
    action = action_of(call.name, call.arguments)
    return ToolCallStarted(call=call.call, tool_call_id=call.tool_call_id, name=action.name, arguments=action.arguments)


async def _all_or_none(tasks: Sequence[asyncio.Task[None]]) -> None:
    # Not a TaskGroup: its exception groups would hide the one StoreFailure that the turn is ended with.
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
