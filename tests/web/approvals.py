"""A call that waits for a person, as the core has it and as clients are shown it."""

from __future__ import annotations

from service.core.json_types import JsonObject
from service.core.records import PendingCall
from tests.web.fakes import NOON, NOON_TEXT, SESSION, TURN

PENDING = PendingCall(
    session=SESSION,
    turn=TURN,
    call=2,
    tool_call_id="c2",
    name="pay",
    title="Pay a bill",
    arguments='{"to": "Ann"}',
    digest="sha256:ab",
    reason="This tool always asks for an approval.",
    asked_at=NOON,
)
SHOWN: JsonObject = {
    "session": SESSION,
    "turn": TURN,
    "call": 2,
    "tool_call_id": "c2",
    "name": "pay",
    "title": "Pay a bill",
    "arguments": '{"to": "Ann"}',
    "digest": "sha256:ab",
    "reason": "This tool always asks for an approval.",
    "asked_at": NOON_TEXT,
    "expires_at": None,
}
