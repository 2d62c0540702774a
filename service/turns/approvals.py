"""Asks people about calls, waits for their word, and takes it in (A1 to A6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from service.codec import decode_record
from service.core.approvals import digest_of, expired, pending_call
from service.core.batch import ApprovalNeeded, Run, close_call
from service.core.decision_signature import ApproverKeys
from service.core.decisions import DecisionAsked, all_made_before, new_decisions, not_pending, refuse_doubles
from service.core.errors import IllegalTransition
from service.core.records import ApprovalDecided, ApprovalRequested, ToolCall
from service.core.request_key import RequestKey
from service.core.turn_state import Phase
from service.ports import Clock, Meter, StoredRecord
from service.ports.meter import Decided
from service.turns.live_session import LiveSession


class Approvals:
    """The wait of a turn for people; `wait_s` is approval_wait_s, 0 for ever."""

    def __init__(self, clock: Clock, keys: ApproverKeys, meter: Meter, *, wait_s: int) -> None:
        self._clock = clock
        self._keys = keys
        self._meter = meter
        self._wait_s = wait_s

    async def request(self, live: LiveSession, calls: Sequence[ApprovalNeeded]) -> None:
        """Ask about these calls of the open batch."""
        turn, now = live.state.turn, self._clock.now()
        assert turn is not None  # a batch belongs to a turn
        pending = tuple(
            pending_call(
                live.id,
                turn,
                needed.call.call,
                needed.call.tool_call_id,
                needed.spec,
                needed.arguments,
                needed.reason,
                now=now,
                wait_s=self._wait_s,
            )
            for needed in calls
        )
        await live.append(ApprovalRequested(calls=pending))

    async def wait(self, live: LiveSession, until: datetime | None) -> None:
        """Wait until all calls are decided on; at `until` those that have expired by then are closed (A6)."""
        with live.watched() as changed:
            timer: asyncio.Task[None] | None = None
            try:
                while live.state.phase is Phase.AWAITING_APPROVAL:
                    changed.clear()
                    left_s = None if until is None else (until - self._clock.now()).total_seconds()
                    if left_s is not None and left_s <= 0:
                        await self._expire(live)
                        return
                    if left_s is not None and (timer is None or timer.done()):
                        timer = asyncio.create_task(self._clock.sleep(left_s), name=f"approvals of {live.id} expire")
                    await _first_of(asyncio.create_task(changed.wait()), timer)
            finally:
                if timer is not None:
                    timer.cancel()

    async def _expire(self, live: LiveSession) -> None:
        async with live.deciding:
            now, cap = self._clock.now(), live.state.options.limits.tool_result_cap
            over = [
                (call.call, call.asked.asked_at)
                for call in live.state.pending_calls
                if call.asked is not None and call.asked.expires_at is not None and call.asked.expires_at <= now
            ]
            if over:
                await live.append(*(close_call(call, expired(), cap=cap).result for call, _ in over))
                for _, asked_at in over:
                    self._meter.decided(Decided.EXPIRED, (now - asked_at).total_seconds())

    async def decide(
        self, live: LiveSession, asked: Sequence[DecisionAsked], *, by: str, key: RequestKey | None
    ) -> Sequence[StoredRecord]:
        """Take decisions in, all or none; give the records of those that are new.

        Raises:
            RequestRefused: one of them can't be taken.
        """
        async with live.deciding:
            now, pending = self._clock.now(), live.state.pending_calls
            records = new_decisions(live.state, asked, live.toolset, self._keys, by=by, now=now)
            if not records:
                return ()
            try:
                stored = await live.append(*records, key=key)
            except IllegalTransition as ended:
                # The turn was cancelled in the same moment.
                raise not_pending(records[0].call) from ended
            asked_at = {call.call.call: call.asked.asked_at for call in pending if call.asked is not None}
            for record in records:
                what = Decided.APPROVED if record.approved else Decided.DENIED
                self._meter.decided(what, (now - asked_at[record.call]).total_seconds())
            return stored

    def fault_of(self, live: LiveSession, call: ToolCall, run: Run) -> str | None:
        """Say why an approved call may not run all the same; looked at before each, also after a restart (A2, A5).

        The approval is of exactly what the model wrote: whoever changes that in the store does not change its digest.
        """
        decision, turn = run.approval, live.state.turn
        if decision is None or turn is None:
            return None
        if decision.digest != digest_of(live.id, turn, call.call, call.tool_call_id, run.spec.name, run.raw):
            return "it was given for another call"
        return self._keys.fault_of(
            decision.digest, approved=decision.approved, arguments=decision.arguments, signature=decision.signature
        )


def decided_before(turn: Sequence[StoredRecord], asked: Sequence[DecisionAsked]) -> StoredRecord | None:
    """Find the first of these decisions in a turn's records; None where not each of them stands there just as it is.

    Raises:
        RequestRefused: two of them are on one call.
    """
    refuse_doubles(asked)
    decided = [
        (stored, record)
        for stored in turn
        if stored.type == ApprovalDecided.type
        and isinstance(record := decode_record(stored.body).record, ApprovalDecided)
    ]
    if not all_made_before(asked, (record for _, record in decided)):
        return None
    calls = {decision.call for decision in asked}
    return next(stored for stored, record in decided if record.call in calls)


async def _first_of(changed: asyncio.Task[bool], timer: asyncio.Task[None] | None) -> None:
    try:
        await asyncio.wait({changed} if timer is None else {changed, timer}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        changed.cancel()
