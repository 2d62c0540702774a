"""What must be true of the calls that people were asked about (A1 to A3, A6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from service.core.ids import LOCAL_OWNER
from service.core.json_types import JsonObject
from tests.cases.fake_port import PortCall
from tests.crashes.conversation import Conversation
from tests.crashes.logs import of_type

_DENIED = '{"approved":false,"error":"denied by human approver","reason":"It is too much."}'


def faults_of_approvals(
    session: str, records: Sequence[JsonObject], conversation: Conversation, sent: Iterable[PortCall]
) -> Iterator[str]:
    """Say which call was asked about or decided on twice, ran before or without its approval, or has another end."""
    asked = [pending for record in of_type(records, "approval_requested") for pending in record["calls"]]
    decided = {record["call"]: record for record in of_type(records, "approval_decided")}
    for number, times in Counter(pending["call"] for pending in asked).items():
        if times > 1:
            yield f"people were asked about call {number} {times} times"
    if len(decided) != len(of_type(records, "approval_decided")):
        yield "a call was decided on twice"
    promised = {call: one.body for (owner, call), one in conversation.decisions.items() if owner == session}
    is_cancelled = any(message.cancelled is not None for message in conversation.messages)
    if decided.keys() != promised.keys() and not (is_cancelled and decided.keys() < promised.keys()):
        yield f"{promised.keys()} were decided on, and the log has {decided.keys()}"
    for number, record in decided.items():
        kept = {name: record[name] for name in promised.get(number, {})}
        if kept != promised.get(number) or record["by"] != LOCAL_OWNER:
            yield f"the decision on call {number} is kept as {record}"
    yield from _faults_of_waiting(records)
    yield from _faults_of_ends(records, decided)
    yield from _faults_of_approved(session, records, decided, sent)


def _faults_of_waiting(records: Iterable[JsonObject]) -> Iterator[str]:
    waiting: set[int] = set()
    for record in records:
        match record["type"]:
            case "approval_requested":
                waiting |= {pending["call"] for pending in record["calls"]}
            case "approval_decided" | "tool_result":
                waiting.discard(record["call"])
            case "tool_call_started" | "assistant" if waiting:
                yield f"the turn went on while {waiting} waited"
            case _:
                pass


def _faults_of_ends(records: Iterable[JsonObject], decided: dict[int, JsonObject]) -> Iterator[str]:
    for result in of_type(records, "tool_result"):
        decision = decided.get(result["call"])
        is_denied = decision is not None and not decision["approved"]
        if is_denied != (result["status"] == "denied") or (is_denied and result["content"] != _DENIED):
            yield f"call {result['call']} with {decision} ended as {result['status']}: {result['content']}"
        ran_otherwise = decision is not None and "arguments" in decision and result["status"] == "ok"
        if ran_otherwise != result["content"].startswith("Ran with arguments changed by the approver: "):
            yield f"what the model is told of call {result['call']} with {decision} is {result['content']}"


def _faults_of_approved(
    session: str, records: Sequence[JsonObject], decided: dict[int, JsonObject], sent: Iterable[PortCall]
) -> Iterator[str]:
    by_port = set[int]()
    started = set[int]()
    for record in of_type(records, "tool_call_started", "approval_requested"):
        if record["type"] == "tool_call_started":
            started.add(record["call"])
        else:
            by_port |= started & {pending["call"] for pending in record["calls"]}
    for call in sent:
        number, approval = call.body["call"], call.body.get("approval")
        decision = decided.get(number)
        is_again = call.key.strip('"') == f"{session}/{number}/approved"
        if is_again != (number in by_port and approval is not None):
            yield f"call {number} was sent with the key {call.key} and {approval}"
        if approval is None and decision is not None and number not in by_port:
            yield f"call {number} was sent without its approval"
        if approval is not None:
            told = {name: value for name, value in approval.items() if name != "decided_at"}
            if decision is None or told != {name: decision.get(name) for name in told}:
                yield f"the port was told {approval} of the approval of call {number}, which is {decision}"
