"""The call that a decision is about, as `turnkeeper sign` reads it: what GET /approvals gives, or one item of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import cast

from service.core.approvals import digest_of
from service.core.ids import SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.visible import visible

# Where calls that wait stand in the answers of the service: GET /approvals, a turn.
_LISTS = ("items", "pending")
_TEXTS = ("session", "turn", "tool_call_id", "name", "arguments", "digest")
_PATH_SHOWN = 200


class NotToBeSigned(Exception):
    """There is not exactly one call, or its digest is not its own; the message says so in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCall:
    """What the digest is taken of, and why somebody is asked, which is not."""

    session: str
    turn: str
    call: int
    tool_call_id: str
    name: str
    arguments: str
    digest: str
    reason: str

    @property
    def decisions_path(self) -> str:
        """Where a decision on the call is posted to."""
        return visible(f"/sessions/{self.session}/turns/{self.turn}/decisions", _PATH_SHOWN)

    def lines(self) -> list[str]:
        """Show the call to a person, whole, with nothing hidden in it (K5)."""
        shown = {
            "tool": self.name,
            "arguments": self.arguments,
            "call": f"{self.call} ({self.tool_call_id})",
            "session": self.session,
            "turn": self.turn,
            "digest": self.digest,
            "asked because (not signed)": self.reason,
        }
        return [f"  {label}: {visible(text, len(text))}" for label, text in shown.items()]


def read_waiting_call(text: str, call: int | None) -> WaitingCall:
    """Read the one call of the text, or the one with the number `call`.

    Raises:
        NotToBeSigned: there is none or more than one, or its digest is that of another call.
    """
    found = [pending for pending in _calls_of(text) if call is None or pending.get("call") == call]
    if not found:
        raise NotToBeSigned("no such call waits there" if call is not None else "no call waits there")
    if len(found) > 1:
        numbers = ", ".join(visible(str(pending.get("call")), 20) for pending in found[:20])
        raise NotToBeSigned(
            f"more than one call waits there ({numbers}); choose one with --call, or give its item only"
        )
    waiting = _waiting_call(found[0])
    if not _is_its_own(waiting):
        raise NotToBeSigned("the digest is not that of the call that is shown, so nothing was signed")
    return waiting


def _calls_of(text: str) -> list[JsonObject]:
    try:
        said: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotToBeSigned("it is no JSON") from error
    if not isinstance(said, dict):
        raise NotToBeSigned("it is no JSON object")
    members = cast(JsonObject, said)
    listed = next((members[name] for name in _LISTS if isinstance(members.get(name), list)), [members])
    return [cast(JsonObject, item) for item in cast(list[object], listed) if isinstance(item, dict)]


def _waiting_call(pending: JsonObject) -> WaitingCall:
    texts = {name: pending.get(name) for name in _TEXTS}
    missing = [name for name, value in texts.items() if not isinstance(value, str)]
    number: object = pending.get("call")
    if missing or type(number) is not int:
        raise NotToBeSigned(f"it is no call that waits: {', '.join(missing) or 'call'} is missing or of another kind")
    reason: object = pending.get("reason")
    said = reason if isinstance(reason, str) else "nothing was said"
    return WaitingCall(call=number, reason=said, **cast(dict[str, str], texts))


def _is_its_own(waiting: WaitingCall) -> bool:
    try:
        digest = digest_of(
            SessionId(waiting.session),
            TurnId(waiting.turn),
            waiting.call,
            waiting.tool_call_id,
            waiting.name,
            waiting.arguments,
        )
    except ValueError:
        # Half of a surrogate pair has no UTF-8, so it has no digest either.
        return False
    return digest == waiting.digest
