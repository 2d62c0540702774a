"""What a log says of approvals, read record by record: who was asked what, what was decided, and what then ran.

Above: `verification`. Below: `approvals` (the digest of a call), `decision_signature`. Bodies are taken as JSON, since
a log that somebody else has written may hold anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import cast

from service.core.approvals import digest_of
from service.core.decision_signature import ApproverKeys
from service.core.ids import SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.records import (
    ApprovalDecided,
    ApprovalRequested,
    DecisionSignature,
    SessionCreated,
    ToolCallStarted,
    TurnFinished,
)


class _Unreadable(ValueError):
    """A member is missing or of another kind than the service writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A call that somebody was asked about; `action` is a hash of what may run, `approved` None until it is decided."""

    turn: str
    name: str
    digest: str
    action: bytes
    approved: bool | None = None


class ApprovalTrail:
    """Follows the approvals of one session; it remembers the calls of a turn that were asked about, and no more."""

    def __init__(self, session: SessionId) -> None:
        self._session = session
        self._is_fork = False
        self._asked: dict[int, _Asked] = {}
        self._checks: Mapping[str, Callable[[str | None, JsonObject], str | None]] = {
            SessionCreated.type: self._begin,
            ApprovalRequested.type: self._ask,
            ApprovalDecided.type: self._decide,
            ToolCallStarted.type: self._send,
            TurnFinished.type: self._forget,
        }

    def fault_of(self, record_type: str, turn: str | None, members: JsonObject) -> str | None:
        """Take the next record; say in a clause what is wrong with it (A2), None when nothing is."""
        check = self._checks.get(record_type)
        if check is None:
            return None
        try:
            return check(turn, members)
        except ValueError:
            return "what it says of approvals can't be read"

    def _begin(self, _turn: str | None, members: JsonObject) -> None:
        self._is_fork = members.get("fork") is not None

    def _ask(self, turn: str | None, members: JsonObject) -> str | None:
        calls = members.get("calls")
        if not isinstance(calls, list):
            raise _Unreadable
        for pending in cast(list[object], calls):
            if not isinstance(pending, dict):
                raise _Unreadable
            wrong = self._ask_about(turn, cast(JsonObject, pending))
            if wrong is not None:
                return wrong
        return None

    def _ask_about(self, turn: str | None, pending: JsonObject) -> str | None:
        call = _number(pending, "call")
        session, of_turn, digest = _text(pending, "session"), _text(pending, "turn"), _text(pending, "digest")
        name, arguments = _text(pending, "name"), _text(pending, "arguments")
        if call in self._asked:
            return f"call {call} was asked about before"
        # A fork has the records of its source, questions included, and those name the source.
        if of_turn != turn or (session != self._session and not self._is_fork):
            return f"the question about call {call} is one of another session or turn"
        said = digest_of(SessionId(session), TurnId(of_turn), call, _text(pending, "tool_call_id"), name, arguments)
        if said != digest:
            return f"the digest of call {call} is not that of the call that is shown"
        self._asked[call] = _Asked(turn=of_turn, name=name, digest=digest, action=_hash_of(name, arguments))
        return None

    def _decide(self, _turn: str | None, members: JsonObject) -> str | None:
        call, digest, approved = _number(members, "call"), _text(members, "digest"), _truth(members, "approved")
        arguments = _text_or_none(members, "arguments")
        asked = self._asked.get(call)
        if asked is None:
            return f"a decision on call {call}, which nobody was asked about"
        if asked.approved is not None:
            return f"a second decision on call {call}"
        if asked.digest != digest:
            return f"the decision on call {call} is one on another call: its digest is not that of the question"
        action = asked.action if arguments is None else _hash_of(asked.name, arguments)
        self._asked[call] = replace(asked, approved=approved, action=action)
        return None

    def _send(self, _turn: str | None, members: JsonObject) -> str | None:
        call = _number(members, "call")
        asked = self._asked.get(call)
        if asked is None:
            return None
        if not asked.approved:
            return f"call {call} was sent though {'nobody had decided' if asked.approved is None else 'it was denied'}"
        if _hash_of(_text(members, "name"), _text(members, "arguments")) != asked.action:
            return f"call {call} was sent otherwise than it was approved: another tool or other arguments"
        return None

    def _forget(self, turn: str | None, _members: JsonObject) -> None:
        self._asked = {call: asked for call, asked in self._asked.items() if asked.turn != turn}


@dataclass(frozen=True, slots=True, kw_only=True)
class SignaturesWanted:
    """Whose signatures decisions must have; those made before `unsigned_before` may have none (A5)."""

    keys: ApproverKeys = field(default_factory=ApproverKeys)
    unsigned_before: datetime | None = None

    def fault_of(self, record_type: str, members: JsonObject) -> str | None:
        """Say in a clause what is wrong with a decision's signature; None when nothing is, or it is no decision."""
        if record_type != ApprovalDecided.type or not self.keys.keys:
            return None
        try:
            call, signature = _number(members, "call"), _signature(members)
            if signature is None and self._may_lack_one(members):
                return None
            wrong = self.keys.fault_of(
                _text(members, "digest"),
                approved=_truth(members, "approved"),
                arguments=_text_or_none(members, "arguments"),
                signature=signature,
            )
        except ValueError:
            return "what it says of a signature can't be read"
        return None if wrong is None else f"the decision on call {call} does not hold: {wrong.removesuffix('.')}"

    def _may_lack_one(self, members: JsonObject) -> bool:
        if self.unsigned_before is None:
            return False
        decided_at = datetime.fromisoformat(_text(members, "time"))
        # Times of records have a zone; one without any is none of ours.
        return decided_at.tzinfo is not None and decided_at < self.unsigned_before


NO_SIGNATURES_WANTED = SignaturesWanted()


def _hash_of(name: str, arguments: str) -> bytes:
    # A hash, since arguments may have megabytes and a turn many calls.
    return sha256(json.dumps([name, arguments], ensure_ascii=False).encode()).digest()


def _number(members: JsonObject, name: str) -> int:
    value: object = members.get(name)
    if type(value) is not int:
        raise _Unreadable
    return value


def _truth(members: JsonObject, name: str) -> bool:
    value: object = members.get(name)
    if not isinstance(value, bool):
        raise _Unreadable
    return value


def _text(members: JsonObject, name: str) -> str:
    value: object = members.get(name)
    if not isinstance(value, str):
        raise _Unreadable
    return value


def _text_or_none(members: JsonObject, name: str) -> str | None:
    return None if members.get(name) is None else _text(members, name)


def _signature(members: JsonObject) -> DecisionSignature | None:
    signature: object = members.get("signature")
    if signature is None:
        return None
    if not isinstance(signature, dict):
        raise _Unreadable
    said = cast(JsonObject, signature)
    return DecisionSignature(key=_text(said, "key"), value=_text(said, "value"))
