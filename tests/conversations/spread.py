"""What was in a conversation, in words: so that one can see that the generator leaves nothing out."""

from __future__ import annotations

import json
from collections.abc import Iterator

from service.core.errors import ErrorKind
from service.core.json_types import JsonObject
from service.core.records import (
    Assistant,
    Attempt,
    CacheLoss,
    Limit,
    OnToolLimit,
    Outcome,
    Record,
    ResultStatus,
    Resumed,
    StepUsage,
    ToolChoice,
    ToolResult,
    TurnFinished,
    User,
)
from tests.conversations.plan import Blow, Moment
from tests.conversations.played import Played, PlayedSession
from tests.conversations.spread_of_pauses import OF_PAUSES, of_children, of_people
from tests.conversations.spread_of_summaries import OF_SUMMARIES, of_summaries
from tests.conversations.world import PROFILES

# A lost server or a store that can't say so never end a turn under these names, and a defect never does.
_NO_ENDS = {ErrorKind.CONNECT, ErrorKind.TOOL_PORT, ErrorKind.INTERNAL, ErrorKind.PLAN_CHANGED}
_RETRIED = (
    ErrorKind.STREAM_CLOSED,
    ErrorKind.STALLED,
    ErrorKind.UPSTREAM_HTTP,
    ErrorKind.UPSTREAM_ERROR,
    ErrorKind.CONTEXT_FULL,
    ErrorKind.EMPTY_ANSWER,
    ErrorKind.THINKING_CAP,
)

EXPECTED = (
    *(f"template: {name}" for name in PROFILES),
    *(f"tools: {kind}" for kind in ("none", "direct", "discover")),
    *(f"outcome: {outcome}" for outcome in Outcome),
    *(f"limit: {limit}" for limit in Limit),
    *(f"failed: {kind}" for kind in ErrorKind if kind not in _NO_ENDS),
    *(f"tried again after {kind}" for kind in _RETRIED),
    *(f"result: {status}" for status in ResultStatus),
    *(f"{blow} {moment}" for blow in (Blow.CANCEL, Blow.STOP, Blow.KILL, Blow.TIME) for moment in Moment),
    *OF_PAUSES,
    *OF_SUMMARIES,
    *(f"{blow} struck" for blow in Blow),
    *(f"tool_choice {choice}" for choice in ToolChoice),
    "a system prompt",
    "no system prompt",
    "the server was away when the session was made",
    "thought in a prompt",
    "two calls at once in a prompt",
    "an answer with a limit",
    "an answer that was cut",
    "part of an answer kept after a cancel",
    "part of an answer kept after a failure",
    "calls that were cut",
    "a derived call id",
    "an untrusted result",
    "a result that was cut",
    "a result read on",
    "tools found",
    "a tool called through call_tool",
    "a discarded completion",
    "a thought at its budget",
    "a lost cache",
    "resumed",
    "resumed twice",
    "a message refused",
    "a model that goes on and on",
    "on_tool_limit conclude",
    "response_format",
)
"""Every ingredient that the generator must bring about."""


def ingredients(played: Played) -> set[str]:
    """Name what was in a conversation."""
    return {
        *_of_plan(played),
        *_of_strikes(played),
        *of_people(played),
        *of_children(played),
        *of_summaries(played),
        *(word for session in played.sessions for word in _of_session(session)),
    }


def _of_session(session: PlayedSession) -> Iterator[str]:
    yield from _of_prompts(session)
    for entry in session.entries:
        yield from _of_record(entry.record)


def _of_plan(played: Played) -> Iterator[str]:
    plan = played.plan
    yield f"template: {plan.profile}"
    yield "a system prompt" if plan.system else "no system prompt"
    if not plan.met_server:
        yield "the server was away when the session was made"
    if any(turn.endless for turn in plan.turns):
        yield "a model that goes on and on"


def _of_strikes(played: Played) -> Iterator[str]:
    for strike in played.struck:
        yield f"{strike.blow} struck"
        yield f"{strike.blow} {strike.at}"
    if played.refused:
        yield "a message refused"


def _of_prompts(session: PlayedSession) -> Iterator[str]:
    for sent in session.sent:
        yield f"tool_choice {sent.request.tool_choice}"
        if sent.request.response_format is not None:
            yield "response_format"
    if not session.sent:
        return
    last = session.sent[-1]
    tools = [tool["function"]["name"] for tool in last.request.tools]
    yield "tools: none" if not tools else "tools: discover" if "find_tool" in tools else "tools: direct"
    messages: list[JsonObject] = json.loads(last.prompt)
    for message in messages:
        if "reasoning_content" in message:
            yield "thought in a prompt"
        if len(message.get("tool_calls", ())) > 1:
            yield "two calls at once in a prompt"


def _of_record(record: Record) -> Iterator[str]:
    match record:
        case User(options=options) if options.on_tool_limit is OnToolLimit.CONCLUDE:
            yield "on_tool_limit conclude"
        case Assistant():
            yield from _of_answer(record)
        case ToolResult():
            yield from _of_result(record)
        case TurnFinished():
            yield from _of_end(record)
        case Attempt(kind=kind):
            yield f"tried again after {kind}"
        case StepUsage(discarded=discarded, thinking_capped=capped):
            yield from ["a discarded completion"] * discarded + ["a thought at its budget"] * capped
        case CacheLoss():
            yield "a lost cache"
        case Resumed(attempt=attempt):
            yield "resumed" if attempt == 1 else "resumed twice"
        case _:
            pass


def _of_answer(record: Assistant) -> Iterator[str]:
    if record.finish_reason == "cancelled":
        yield "part of an answer kept after a cancel"
    if record.finish_reason == "error":
        yield "part of an answer kept after a failure"
    if record.cut_calls:
        yield "calls that were cut"
    for call in record.tool_calls:
        if call.tool_call_id != call.model_call_id:
            yield "a derived call id"
        if call.name == "call_tool":
            yield "a tool called through call_tool"


def _of_result(record: ToolResult) -> Iterator[str]:
    yield f"result: {record.status}"
    if record.untrusted:
        yield "an untrusted result"
    if record.truncated:
        yield "a result that was cut"
    if record.status is ResultStatus.OK and record.name in ("read_result", "find_tool"):
        yield "a result read on" if record.name == "read_result" else "tools found"


def _of_end(record: TurnFinished) -> Iterator[str]:
    yield f"outcome: {record.outcome}"
    if record.limit is not None:
        yield f"limit: {record.limit}" if record.outcome is Outcome.TURN_LIMIT else "an answer with a limit"
    if record.truncated:
        yield "an answer that was cut"
    if record.error is not None:
        yield f"failed: {record.error.kind}"
