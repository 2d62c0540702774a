"""What must hold of approvals: nobody's word is given twice, lost or overstepped (A1 to A4, A7)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from service.core.action import RepeatKey, action_of
from service.core.past_calls import key_of
from service.core.records import (
    ApprovalDecided,
    ApprovalRequested,
    Assistant,
    PendingCall,
    Record,
    ResultStatus,
    ToolCall,
    ToolCallStarted,
    ToolResult,
    User,
)
from service.core.tool_port import ToolRequest
from tests.conversations.plan import Manner
from tests.conversations.played import Answered, Played, PlayedSession
from tests.conversations.world import LISTED

_SPECS = {spec["name"]: spec for spec in LISTED}
_RAN = (ResultStatus.OK, ResultStatus.FAILED, ResultStatus.INTERRUPTED, ResultStatus.REPEATED)


def judge_approvals(played: Played) -> None:
    """Check what people were asked and said, and what was done of it."""
    for session in played.sessions:
        for call in _calls(session, guarded=played.plan.guarded).values():
            _check(call)
    for answered in played.answered:
        _check_answer(answered)


@dataclass(slots=True)
class _Call:
    """A call with all that happened to it.

    `must_ask` says that no port may get it unasked, `was_denied` that the same was denied before in its turn.
    """

    call: ToolCall
    must_ask: bool
    was_denied: bool
    asked: list[PendingCall] = field(default_factory=list[PendingCall])
    was_sent_before: bool = False
    decided: list[ApprovalDecided] = field(default_factory=list[ApprovalDecided])
    starts: int = 0
    result: ToolResult | None = None
    requests: list[ToolRequest] = field(default_factory=list[ToolRequest])


def _calls(session: PlayedSession, *, guarded: bool) -> dict[int, _Call]:
    log = _Log(guarded=guarded, is_untrusted=session.created.untrusted)
    for entry in session.entries:
        log.take(entry.record)
    for request in session.calls:
        log.calls[request.call].requests.append(request)
    return log.calls


@dataclass(slots=True)
class _Log:
    """A session's calls, as its log tells of them; `waiting` are those that people were asked about."""

    guarded: bool
    is_untrusted: bool
    calls: dict[int, _Call] = field(default_factory=dict[int, _Call])
    waiting: set[int] = field(default_factory=set[int])
    denied: set[RepeatKey] = field(default_factory=set[RepeatKey])

    def take(self, record: Record) -> None:
        match record:
            case User():
                self.denied.clear()
            case Assistant(tool_calls=made):
                for call in made:
                    must_ask = _must_ask(call, self.guarded and self.is_untrusted)
                    self.calls[call.call] = _Call(call, must_ask, key_of(call) in self.denied)
            case ApprovalRequested(calls=asked):
                for pending in asked:
                    self._ask(pending)
            case ApprovalDecided(call=number) as decided:
                self.calls[number].decided.append(decided)
                self.waiting.discard(number)
            case ToolCallStarted(call=number):
                assert not self.waiting, f"call {number} was sent while {self.waiting} waited"
                self.calls[number].starts += 1
            case ToolResult():
                self._end(record)
            case _:
                pass

    def _ask(self, pending: PendingCall) -> None:
        call = self.calls[pending.call]
        call.asked.append(pending)
        call.was_sent_before = call.starts > 0
        self.waiting.add(pending.call)

    def _end(self, result: ToolResult) -> None:
        call = self.calls[result.call]
        call.result = result
        if result.status is ResultStatus.DENIED:
            self.denied.add(key_of(call.call))
        self.waiting.discard(result.call)
        self.is_untrusted = self.is_untrusted or result.untrusted


def _must_ask(call: ToolCall, is_guarded: bool) -> bool:
    spec = _SPECS.get(action_of(call.name, call.arguments).name, {})
    acts = spec.get("acts_outside", False) or spec.get("class", "public") != "public"
    return bool(spec.get("needs_approval", False) or (is_guarded and acts))


def _check(call: _Call) -> None:
    number, decision = call.call.call, call.decided[0] if call.decided else None
    assert not (call.was_denied and (call.asked or call.requests)), f"call {number} was denied before"
    assert len(call.asked) <= 1, f"call {number} was asked about {len(call.asked)} times"
    assert len(call.decided) <= len(call.asked), f"call {number} was decided on {len(call.decided)} times"
    assert call.result is not None
    status = call.result.status
    if call.asked and decision is None:
        assert status in (ResultStatus.DENIED, ResultStatus.CANCELLED), f"call {number}, undecided, ended as {status}"
    if decision is not None:
        assert decision.digest == call.asked[0].digest
        assert decision.approved or status not in _RAN, f"call {number} was denied and ended as {status}"
    for request in call.requests:
        _check_request(call, request, decision)
    if decision is not None and decision.arguments is not None and call.result.status is ResultStatus.OK:
        assert call.result.content.startswith("Ran with arguments changed by the approver: "), call.result


def _check_request(call: _Call, request: ToolRequest, decision: ApprovalDecided | None) -> None:
    number = call.call.call
    if request.approval is None:
        assert not call.must_ask, f"call {number} was sent without an approval"
        assert not call.asked or call.was_sent_before, f"call {number} was sent though it was asked about"
        return
    assert decision is not None, f"call {number} was sent as approved before anyone had decided"
    assert decision.approved, f"call {number} was denied and sent"
    assert request.approval.digest == decision.digest
    assert request.idempotency_key.endswith("/approved") == call.was_sent_before
    if decision.arguments is not None:
        assert request.arguments == json.loads(decision.arguments)


def _check_answer(answered: Answered) -> None:
    refused = answered.refused_by
    match answered.manner:
        case Manner.WRONG_DIGEST:
            assert refused[0] is not None, "a wrong digest was taken"
        case Manner.TWICE if refused[0] is None:
            assert refused[1] in (None, "shutting_down"), f"the same decision again was refused: {refused[1]}"
        case Manner.RIVALS:
            assert None not in refused or any(refused), "two decisions that differ were both taken"
        case _:
            pass
