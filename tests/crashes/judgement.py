"""What must be true of a conversation when it is over, however often the service was killed in it (S4)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set

from service.core.json_types import JsonObject
from tests.cases.fake_port import PortCall
from tests.cases.growth import only_grows
from tests.cases.strict_llama import Asked
from tests.crashes.conversation import Conversation
from tests.crashes.judgement_of_approvals import faults_of_approvals
from tests.crashes.judgement_of_calls import faults_of_calls, faults_of_sending
from tests.crashes.judgement_of_handoffs import faults_of_handoffs
from tests.crashes.judgement_of_summaries import faults_of_summaries
from tests.crashes.logs import Logs, below, in_order, of_type
from tests.crashes.scripts import Scenario
from tests.crashes.watched_fakes import is_expert, is_summary

RESUME_ATTEMPTS = 3
RETRY_ATTEMPTS = 2


def faults_of(
    conversation: Conversation,
    scenario: Scenario,
    logs: Logs,
    sent: Sequence[PortCall],
    asked: Sequence[Asked],
) -> Iterator[str]:
    """Say all that is wrong with the logs of a session and of those below it, with what the port and the model got.

    The last turn of the session's own log is the one that was run when all was over.
    """
    own = logs[conversation.session_id]
    yield from _faults_of_turns(conversation, scenario, own)
    yield from _faults_of_streams(conversation, logs)
    yield from faults_of_handoffs(logs)
    for session, records in logs.items():
        calls = [call for call in sent if call.body["session"] == session]
        yield from _faults_of_log(conversation, records)
        yield from faults_of_calls(records, _statuses(conversation, scenario))
        yield from faults_of_sending(session, records, calls, lives=1 + conversation.kills)
        yield from faults_of_approvals(session, records, conversation, calls)
        yield from faults_of_summaries(records)
    yield from _faults_of_prompts(logs, asked)


def _faults_of_turns(conversation: Conversation, scenario: Scenario, records: Sequence[JsonObject]) -> Iterator[str]:
    ends = {record["turn"]: record for record in of_type(records, "turn_finished")}
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
    taken_up = [record["content"] for record in of_type(records, "user")]
    if "interrupt" not in scenario.on_busy and taken_up[:-1] != [m.content for m in conversation.messages]:
        yield f"the messages were taken up as {taken_up}"


def _gave_up(end: JsonObject, conversation: Conversation) -> bool:
    crashed = end["outcome"] == "failed" and end["error"]["kind"] == "crashed"
    return crashed and conversation.kills > RESUME_ATTEMPTS


def _faults_of_streams(conversation: Conversation, logs: Logs) -> Iterator[str]:
    for message in conversation.messages:
        shown = [data for _, data in message.frames]
        children = set(below(logs, conversation.session_id, message.turn_id))
        wanted = [
            record
            for record in in_order(logs)
            if record["turn"] == message.turn_id or (record["session"] in children and _is_of_approvals(record))
        ]
        if shown != wanted:
            yield f"the stream of {message.content!r} showed {[data['pos'] for data in shown]}, not what the log holds"


def _is_of_approvals(record: JsonObject) -> bool:
    return record["type"] in ("approval_requested", "approval_decided")


def _faults_of_log(conversation: Conversation, records: Sequence[JsonObject]) -> Iterator[str]:
    if [record["seq"] for record in records] != list(range(1, len(records) + 1)):
        yield "the log has a gap"
    for kind in ("turn_finished", "user", "turn_queued"):
        twice = [turn for turn, times in Counter(r["turn"] for r in of_type(records, kind)).items() if times > 1]
        if twice:
            yield f"{kind} is there twice for {twice}"
    attempts = Counter((r["turn"], r["step"]) for r in of_type(records, "attempt"))
    if any(times > RETRY_ATTEMPTS for times in attempts.values()):
        yield f"a step was tried again too often: {attempts}"
    resumed = len(of_type(records, "resumed"))
    if resumed > conversation.kills:
        yield f"{resumed} turns were resumed after {conversation.kills} kills"


def _statuses(conversation: Conversation, scenario: Scenario) -> Set[str]:
    allowed = {"ok", "repeated", "unknown_tool", "bad_arguments", "denied"}
    if conversation.kills:
        allowed.add("interrupted")
    if conversation.kills > RESUME_ATTEMPTS or (conversation.kills and scenario.cancels):
        # Of a handoff whose child was given up, or was cancelled when the parent was not yet.
        allowed.add("failed")
    if "interrupt" in scenario.on_busy or scenario.cancels:
        allowed |= {"cancelled", "not_run"}
    return allowed


def _faults_of_prompts(logs: Logs, asked: Iterable[Asked]) -> Iterator[str]:
    """A prompt begins with the one before it, except across a summary, which changes the first message of the user."""
    grown = defaultdict[tuple[bool, str], list[Asked]](list)
    for one in asked:
        if not is_summary(one):
            grown[is_expert(one), one.conversation].append(one)
    if not all(map(only_grows, grown.values())):
        yield "a prompt does not begin with the one before"
    begun = len(logs) + sum(len(of_type(records, "summary")) for records in logs.values())
    if len(grown) > begun:
        yield f"prompts began anew {len(grown)} times in {len(logs)} sessions"
