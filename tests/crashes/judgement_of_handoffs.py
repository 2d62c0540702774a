"""What must be true of handoffs: one child for each, with one turn that has one end, and one answer from it (G2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from service.core.json_types import JsonObject
from tests.crashes.logs import Logs, of_type


def faults_of_handoffs(logs: Logs) -> Iterator[str]:
    """Say where a handoff has not exactly one child, or the child's answer did not come exactly once."""
    named = [
        started["child"]["session"] for records in logs.values() for started in of_type(records, "handoff_started")
    ]
    if len(set(named)) != len(named):
        yield "two handoffs have the same child"
    for session, records in logs.items():
        started = of_type(records, "handoff_started")
        returned = of_type(records, "handoff_returned")
        calls = [record["call"] for record in started]
        if len(set(calls)) != len(calls) or calls != [record["call"] for record in returned]:
            yield f"the handoffs {calls} of {session} came back as {[record['call'] for record in returned]}"
            continue
        for begin, end in zip(started, returned, strict=True):
            yield from _faults_of_return(records, end)
            yield from _faults_of_child(session, begin, end, logs.get(begin["child"]["session"], []))


def _faults_of_return(records: Sequence[JsonObject], returned: JsonObject) -> Iterator[str]:
    # `seq` counts from 1: this is the record behind it.
    result = records[int(returned["seq"])]
    if (result["type"], result.get("call")) != ("tool_result", returned["call"]):
        yield f"the answer to handoff {returned['call']} is apart from its result"
    elif returned["outcome"] == "answered" and (result["status"], result["content"]) != ("ok", returned["content"]):
        yield f"handoff {returned['call']} was answered with {returned['content']!r}, and its result is {result}"


def _faults_of_child(
    session: str, started: JsonObject, returned: JsonObject, records: Sequence[JsonObject]
) -> Iterator[str]:
    name, turn = started["child"]["session"], started["child"]["turn"]
    if returned["child"] != started["child"]:
        yield f"handoff {started['call']} went to {started['child']} and came back from {returned['child']}"
    if not records:
        if returned["outcome"] != "cancelled":
            yield f"the child {name} was never made"
        return
    if records[0].get("parent") != {"session": session, "turn": started["turn"], "call": started["call"]}:
        yield f"the child {name} has the parent {records[0].get('parent')}"
    if {record["turn"] for record in records} - {None} != {turn}:
        yield f"the child {name} has other turns than {turn}"
    ends = of_type(records, "turn_finished")
    if len(ends) != 1 or len(of_type(records, "user")) != 1:
        yield f"the turn of the child {name} has {len(ends)} ends"
    elif returned["outcome"] == "cancelled":
        return
    elif (ends[0]["outcome"], ends[0].get("content")) != (returned["outcome"], returned.get("content")):
        yield f"the child {name} ended as {ends[0]['outcome']}, and came back as {returned['outcome']}"
