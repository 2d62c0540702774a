"""What must be true of a conversation when it is over, however often the service was killed in it (S4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set

from service.core.json_types import JsonObject
from tests.cases.fake_port import PortCall
from tests.cases.growth import only_grows
from tests.cases.strict_llama import Asked
from tests.crashes.conversation import Conversation
from tests.crashes.scenarios import Scenario
from tests.crashes.watched_fakes import IDEMPOTENT

RESUME_ATTEMPTS = 3
RETRY_ATTEMPTS = 2


def faults_of(
    conversation: Conversation,
    scenario: Scenario,
    records: Sequence[JsonObject],
    sent: Sequence[PortCall],
    asked: Sequence[Asked],
) -> Iterator[str]:
    """Say all that is wrong with the log of a session, with what the port was sent and with what the model was asked.

    The last turn of `records` is the one that was run when all was over.
    """
    if [record["seq"] for record in records] != list(range(1, len(records) + 1)):
        yield "the log has a gap"
    yield from _faults_of_turns(conversation, scenario, records)
    yield from _faults_of_streams(conversation, records)
    yield from _faults_of_attempts(conversation, records)
    yield from faults_of_calls(records, _statuses(conversation, scenario))
    yield from faults_of_sending(conversation.session_id, records, sent, lives=1 + conversation.kills)
    if not only_grows(asked):
        yield "a prompt does not begin with the one before"


def _faults_of_turns(conversation: Conversation, scenario: Scenario, records: Sequence[JsonObject]) -> Iterator[str]:
    ends = {record["turn"]: record for record in records if record["type"] == "turn_finished"}
    for kind in ("turn_finished", "user", "turn_queued"):
        twice = [turn for turn, times in Counter(r["turn"] for r in records if r["type"] == kind).items() if times > 1]
        if twice:
            yield f"{kind} is there twice for {twice}"
    turns = list(dict.fromkeys(record["turn"] for record in records if record["turn"]))
    if len(turns) != len(conversation.messages) + 1 or len(ends) != len(turns):
        yield f"{len(conversation.messages) + 1} messages became {len(turns)} turns, of which {len(ends)} ended"
    for message, allowed in zip(conversation.messages, scenario.outcomes, strict=True):
        end = ends.get(message.turn_id)
        if end is None:
            yield f"the turn of {message.content!r} is lost, or has no end"
        elif end["outcome"] not in allowed and not _gave_up(end, conversation):
            yield f"{message.content!r} ended as {end['outcome']} {end.get('error')}"
        elif message.cancelled is not None and message.cancelled["outcome"] != end["outcome"]:
            yield f"{message.content!r} was told to be {message.cancelled['outcome']} and is {end['outcome']}"
    taken_up = [record["content"] for record in records if record["type"] == "user"]
    if "interrupt" not in scenario.on_busy and taken_up[:-1] != [m.content for m in conversation.messages]:
        yield f"the messages were taken up as {taken_up}"


def _gave_up(end: JsonObject, conversation: Conversation) -> bool:
    crashed = end["outcome"] == "failed" and end["error"]["kind"] == "crashed"
    return crashed and conversation.kills > RESUME_ATTEMPTS


def _faults_of_streams(conversation: Conversation, records: Sequence[JsonObject]) -> Iterator[str]:
    for message in conversation.messages:
        shown = [data for _, data in message.frames]
        if shown != [record for record in records if record["turn"] == message.turn_id]:
            yield f"the stream of {message.content!r} showed {[data['seq'] for data in shown]}, not what the log holds"


def _faults_of_attempts(conversation: Conversation, records: Sequence[JsonObject]) -> Iterator[str]:
    attempts = Counter((r["turn"], r["step"]) for r in records if r["type"] == "attempt")
    if any(times > RETRY_ATTEMPTS for times in attempts.values()):
        yield f"a step was tried again too often: {attempts}"
    resumed = sum(record["type"] == "resumed" for record in records)
    if resumed > conversation.kills:
        yield f"{resumed} turns were resumed after {conversation.kills} kills"


def _statuses(conversation: Conversation, scenario: Scenario) -> set[str]:
    allowed = {"ok", "repeated", "unknown_tool", "bad_arguments"}
    if conversation.kills:
        allowed.add("interrupted")
    if "interrupt" in scenario.on_busy or scenario.cancels:
        allowed.add("cancelled")
    return allowed


def faults_of_calls(records: Sequence[JsonObject], allowed: Set[str]) -> Iterator[str]:
    """Say where a call has not exactly one result, or one of a status that is not allowed."""
    calls = [call["call"] for record in records if record["type"] == "assistant" for call in record["tool_calls"]]
    results = [record for record in records if record["type"] == "tool_result"]
    if sorted(calls) != sorted(result["call"] for result in results):
        yield f"{len(calls)} calls have {len(results)} results"
    if len(set(calls)) != len(calls):
        yield "two calls have the same number"
    for result in results:
        if result["status"] not in allowed:
            yield f"the result of call {result['call']} is {result['status']}: {result['content']}"
        if result["status"] == "interrupted" and result["name"] in IDEMPOTENT:
            yield f"call {result['call']} of {result['name']} was not sent again"


def faults_of_sending(
    session: str, records: Sequence[JsonObject], sent: Iterable[PortCall], *, lives: int
) -> Iterator[str]:
    """Say what is wrong with the calls that the port got in so many lives of the service."""
    started = Counter(record["call"] for record in records if record["type"] == "tool_call_started")
    if any(times > 1 for times in started.values()):
        yield f"a call was started twice: {started}"
    bodies: dict[int, list[JsonObject]] = {}
    for call in sent:
        if call.key.strip('"') != f"{session}/{call.body['call']}":
            yield f"call {call.body['call']} has the key {call.key}"
        bodies.setdefault(call.body["call"], []).append(call.body)
    for number, same in bodies.items():
        tool = same[0]["tool"]
        if number not in started:
            yield f"call {number} was sent and is not in the log"
        if len(same) > (lives if tool in IDEMPOTENT else 1):
            yield f"call {number} of {tool} was sent {len(same)} times"
        if any(body != same[0] for body in same):
            yield f"call {number} was sent again with another body"
    answered = {record["call"] for record in records if record["type"] == "tool_result" and record["status"] == "ok"}
    if never_sent := answered & started.keys() - bodies.keys():
        yield f"the calls {never_sent} have results and were never sent"
