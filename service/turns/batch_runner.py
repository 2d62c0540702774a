"""Runs the calls of one batch at the same time, each result appended as it arrives (T6, T8)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from service.core.batch import PlannedCall, Run, close_call
from service.core.records import ToolCall, ToolCallStarted
from service.core.result_text import CallOutcome, outcome_of
from service.core.tool_port import ToolRequest
from service.ports import Ids, ToolPort
from service.turns.live_session import LiveSession


class BatchRunner:
    """Sends planned calls to the tool port and closes the others with their text."""

    def __init__(self, port: ToolPort, ids: Ids, *, concurrency: int) -> None:
        self._port = port
        self._ids = ids
        self._concurrency = concurrency

    async def run(self, live: LiveSession, calls: Sequence[PlannedCall]) -> None:
        """Close every call of the batch with a result.

        Raises:
            StoreFailure: a record could not be kept; calls in flight are aborted.
        """
        refused = [
            close_call(plan.call, plan.disposition) for plan in calls if isinstance(plan.disposition, CallOutcome)
        ]
        if refused:
            await live.append(*refused)
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
                tool=call.name,
                arguments=run.arguments,
                timeout_ms=run.spec.timeout_ms,
                idempotency_key=f"{live.id}/{call.call}",
            )
            answer = await self._port.call(request)
            outcome = outcome_of(answer, run.spec)
            await live.append(close_call(call, outcome, fence=self._fence(outcome.text)))

    def _fence(self, text: str) -> str:
        while (fence := self._ids.fence()) in text:
            pass
        return fence


def _started(call: ToolCall) -> ToolCallStarted:
    return ToolCallStarted(call=call.call, tool_call_id=call.tool_call_id, name=call.name, arguments=call.arguments)


async def _all_or_none(tasks: Sequence[asyncio.Task[None]]) -> None:
    # Not a TaskGroup: its exception groups would hide the one StoreFailure that the turn is ended with.
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
