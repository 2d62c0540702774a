"""Which calls need a person's word, what people are asked, and what their answers make of a call (A1 to A4, A7).

Above: `batch`, which finds a call's disposition. Below: `records`, `tool_port`.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from hashlib import sha256

from service.core.ids import SessionId, TurnId
from service.core.labels import DataClass
from service.core.records import ApprovalDecided, PendingCall, ResultStatus
from service.core.result_text import CallOutcome
from service.core.text_boundary import boundary_before
from service.core.tool_port import ToolSpec

CALL_DOMAIN = "turnkeeper.call.v1"
"""Stands first in what a call's digest is taken of, so that it is a digest of nothing else."""

MOST_OF_REASON = 500
"""How many characters of a port's reason people are shown."""


def reason_to_ask(spec: ToolSpec, *, untrusted: bool) -> str | None:
    """Say in a sentence why a call of this tool needs approval; None when it needs none (A1, A7).

    `untrusted` says that the session holds text from outside, and that this is to make a difference.
    """
    if spec.needs_approval:
        return "This tool always asks for an approval."
    if not untrusted:
        return None
    held = "This session holds text from outside, which may carry instructions"
    if spec.acts_outside:
        return f"{held}, and this tool acts outside."
    if spec.data_class is not DataClass.PUBLIC:
        return f"{held}, and this tool gives data of class {spec.data_class}."
    return None


def asked_by_port(words: str) -> str:
    """Say in a sentence that the tool port wants an approval, in its own words if it has some (A1b)."""
    told = words.strip()
    if len(told) > MOST_OF_REASON:
        told = f"{told[: boundary_before(told, MOST_OF_REASON)]}…"
    return f"The tool port asks for an approval: {told}" if told else "The tool port asks for an approval."


def digest_of(session: SessionId, turn: TurnId, call: int, tool_call_id: str, name: str, arguments: str) -> str:
    """Give the digest that binds a decision to exactly this call (A2); `arguments` is raw text."""
    named = json.dumps(
        [CALL_DOMAIN, session, turn, call, tool_call_id, name, arguments], ensure_ascii=False, separators=(",", ":")
    )
    return f"sha256:{sha256(named.encode()).hexdigest()}"


def title_of(spec: ToolSpec) -> str:
    """Give what people call a tool: its title, or its name in words."""
    if spec.title:
        return spec.title
    words = spec.name.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:] or spec.name


def pending_call(
    session: SessionId,
    turn: TurnId,
    call: int,
    tool_call_id: str,
    spec: ToolSpec,
    arguments: str,
    reason: str,
    *,
    now: datetime,
    wait_s: int,
) -> PendingCall:
    """Give what people are asked of a call; `wait_s` is approval_wait_s, 0 for ever (A1, A6)."""
    return PendingCall(
        session=session,
        turn=turn,
        call=call,
        tool_call_id=tool_call_id,
        name=spec.name,
        title=title_of(spec),
        arguments=arguments,
        digest=digest_of(session, turn, call, tool_call_id, spec.name, arguments),
        reason=reason,
        asked_at=now,
        expires_at=now + timedelta(seconds=wait_s) if wait_s else None,
    )


def denied_by(decision: ApprovalDecided) -> CallOutcome:
    """End a call that a person denied (A3)."""
    said: dict[str, object] = {"approved": False, "error": "denied by human approver"}
    if decision.reason is not None:
        said["reason"] = decision.reason
    return _refused(said)


def expired() -> CallOutcome:
    """End a call that nobody decided on in time (A3)."""
    return _refused({"approved": False, "error": "approval expired"})


def not_signed(fault: str) -> CallOutcome:
    """End an approved call whose approval does not hold any more: its signature is wrong (A5)."""
    return _refused({"approved": False, "error": "the approval is not valid", "reason": fault})


def with_changed_arguments(outcome: CallOutcome, arguments: str) -> CallOutcome:
    """Tell the model that the call ran otherwise than it asked (A2)."""
    return outcome.with_beginning(f"Ran with arguments changed by the approver: {arguments}\n")


def _refused(said: dict[str, object]) -> CallOutcome:
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    return CallOutcome(status=ResultStatus.DENIED, text=text)
