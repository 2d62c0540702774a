"""What people decide of calls that wait: checked against what they were asked, all of it or nothing (A2, A5).

Above: the approvals of a turn. Below: the turn's state, the tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from service.core.decision_signature import ApproverKeys
from service.core.errors import ProblemCode, RequestRefused
from service.core.records import ApprovalDecided, DecisionSignature, PendingCall
from service.core.result_text import CallOutcome
from service.core.toolset import Toolset
from service.core.turn_state import TurnState


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionAsked:
    """A decision as it comes in; `arguments` are raw text that takes the place of the model's."""

    call: int
    approved: bool
    digest: str
    arguments: str | None = None
    reason: str | None = None
    signature: DecisionSignature | None = None

    def is_that_of(self, decided: ApprovalDecided) -> bool:
        """Say whether exactly this was decided before."""
        return (
            self.call == decided.call
            and self.approved == decided.approved
            and self.digest == decided.digest
            and self.arguments == decided.arguments
            and self.reason == decided.reason
            and self.signature == decided.signature
        )


def new_decisions(
    state: TurnState, asked: Sequence[DecisionAsked], toolset: Toolset, keys: ApproverKeys, *, by: str, now: datetime
) -> tuple[ApprovalDecided, ...]:
    """Give the records of those decisions that are new; one that was recorded before just as it is needs none.

    Raises:
        RequestRefused: one of them is of no call that waits (`not_pending`), or of another call than the one that was
            shown (`digest_mismatch`), is not signed as it must be (`forbidden`), or makes no sense (`validation`).
    """
    refuse_doubles(asked)
    waiting = {call.call.call: call.asked for call in state.pending_calls if call.asked is not None}
    known = {call.call.call: call.decision for call in state.batch if call.decision is not None}
    fresh: list[tuple[DecisionAsked, PendingCall]] = []
    for decision in asked:
        before = known.get(decision.call)
        if before is not None and decision.is_that_of(before):
            continue
        pending = waiting.get(decision.call)
        if pending is None or _is_over(pending, now):
            raise not_pending(decision.call)
        fresh.append((decision, pending))
    for decision, pending in fresh:
        _check(decision, pending, toolset, keys)
    return tuple(
        ApprovalDecided(
            call=decision.call,
            approved=decision.approved,
            digest=decision.digest,
            arguments=decision.arguments,
            by=by,
            reason=decision.reason,
            signature=decision.signature,
        )
        for decision, _ in fresh
    )


def refuse_doubles(asked: Sequence[DecisionAsked]) -> None:
    """Take no two decisions of one call at once.

    Raises:
        RequestRefused: there are two (`validation`).
    """
    if len({decision.call for decision in asked}) < len(asked):
        raise RequestRefused(ProblemCode.VALIDATION, "decisions: one call is named twice. Decide on each call once.")


def all_made_before(asked: Iterable[DecisionAsked], decided: Iterable[ApprovalDecided]) -> bool:
    """Say whether each of these decisions was recorded before, just as it is."""
    by_call = {record.call: record for record in decided}
    return all(decision.call in by_call and decision.is_that_of(by_call[decision.call]) for decision in asked)


def not_pending(call: int) -> RequestRefused:
    """Refuse a decision of a call that waits for none."""
    return RequestRefused(
        ProblemCode.NOT_PENDING,
        f"Call {call} of this turn waits for no decision: it was decided on, has expired or has ended, or there is no "
        "such call. GET /approvals lists what waits.",
    )


def _is_over(pending: PendingCall, now: datetime) -> bool:
    return pending.expires_at is not None and pending.expires_at <= now


def _check(decision: DecisionAsked, pending: PendingCall, toolset: Toolset, keys: ApproverKeys) -> None:
    if decision.digest != pending.digest:
        raise RequestRefused(
            ProblemCode.DIGEST_MISMATCH,
            f"The digest is not that of call {decision.call} as it waits. Look at the call again, and send the digest "
            "that is shown with it.",
        )
    if decision.arguments is not None:
        if not decision.approved:
            raise RequestRefused(
                ProblemCode.VALIDATION, f"Call {decision.call}: only an approved call can get other arguments."
            )
        checked = toolset.check(pending.name, decision.arguments)
        if isinstance(checked, CallOutcome):
            raise RequestRefused(ProblemCode.VALIDATION, f"The arguments for call {decision.call}: {checked.text}")
    fault = keys.fault_of(
        decision.digest, approved=decision.approved, arguments=decision.arguments, signature=decision.signature
    )
    if fault is not None:
        raise RequestRefused(ProblemCode.FORBIDDEN, f"The decision on call {decision.call} was not taken: {fault}")
