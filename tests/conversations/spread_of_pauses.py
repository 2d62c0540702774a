"""What people and other agents had to do with a conversation, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator

from service.core.json_types import JsonObject
from service.core.records import (
    ApprovalDecided,
    ApprovalRequested,
    Assistant,
    HandoffReturned,
    Outcome,
    Record,
    ResultStatus,
    ToolResult,
)
from tests.conversations.plan import Manner
from tests.conversations.played import Played, PlayedSession

_REASONS = {
    "always asks": "asked by the spec",
    "acts outside": "asked since the tool acts outside",
    "gives data of class": "asked since the data is not public",
    "The tool port asks": "asked by the port",
}
_ENDS = {
    '{"approved":false,"error":"approval expired"}': "an approval expired",
    "The call was cancelled before anyone had decided on it; it was not run.": "an approval was cancelled",
    "The handoff was not made: ": "a handoff too deep",
    "The tool failed: the tool port asked for an approval although": "the port asked twice",
}

OF_PAUSES = (
    *_REASONS.values(),
    *_ENDS.values(),
    *(f"decided {manner}" for manner in Manner),
    *(f"a decision refused: {why}" for why in ("digest_mismatch", "not_pending", "validation", "store")),
    "several calls wait",
    "a call waits beside one that does not",
    "approved",
    "denied",
    "edited",
    "a child waits",
    *(f"a child {outcome}" for outcome in Outcome),
    "a child of a child",
    "a child of a child of a child",
    "two handoffs in a batch",
    "an untrusted answer of a child",
    "two children of a session",
    "messages carried along",
)
"""Ingredients of pauses that the generator must bring about."""


def of_people(played: Played) -> Iterator[str]:
    """Name what people did."""
    for answered in played.answered:
        yield f"decided {answered.manner}"
        for why in answered.refused_by:
            if why is not None:
                yield f"a decision refused: {why}"
    for session in played.sessions:
        open_calls = 0
        for entry in session.entries:
            if isinstance(entry.record, Assistant):
                open_calls = len(entry.record.tool_calls)
            yield from _of_record(entry.record, open_calls)


def _of_record(record: Record, open_calls: int) -> Iterator[str]:
    match record:
        case ApprovalRequested(calls=asked):
            for pending in asked:
                yield next(words for part, words in _REASONS.items() if part in pending.reason)
            if len(asked) > 1:
                yield "several calls wait"
            if len(asked) < open_calls:
                yield "a call waits beside one that does not"
        case ApprovalDecided(approved=approved, arguments=arguments):
            yield "approved" if approved else "denied"
            if arguments is not None:
                yield "edited"
        case ToolResult(content=content):
            yield from (words for start, words in _ENDS.items() if content.startswith(start))
        case _:
            pass


def of_children(played: Played) -> Iterator[str]:
    """Name what other agents did."""
    for session in played.sessions:
        depth = session.created.depth
        if depth > 1:
            yield "a child of a child" if depth == 2 else "a child of a child of a child"
        for entry in session.entries:
            yield from _of_handoff(entry.record, in_child=depth > 0)
        yield from _of_first_message(session)
    parents = [session.created.parent.session for session in played.sessions if session.created.parent is not None]
    if len(parents) > len(set(parents)):
        yield "two children of a session"


def _of_handoff(record: Record, *, in_child: bool) -> Iterator[str]:
    match record:
        case ApprovalRequested() if in_child:
            yield "a child waits"
        case HandoffReturned(outcome=outcome):
            yield f"a child {outcome}"
        case Assistant(tool_calls=calls) if sum(call.name == "handoff_to" for call in calls) > 1:
            yield "two handoffs in a batch"
        case ToolResult(name="handoff_to", status=ResultStatus.OK, untrusted=True):
            yield "an untrusted answer of a child"
        case _:
            pass


def _of_first_message(session: PlayedSession) -> Iterator[str]:
    messages: list[JsonObject] = json.loads(session.messages)
    first = [message["content"] for message in messages if message["role"] == "user"][:1]
    if any("For context, the last messages" in content for content in first):
        yield "messages carried along"
