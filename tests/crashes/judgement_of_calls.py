"""What must be true of the calls in a log, and of what the port was sent of them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set

from service.core.json_types import JsonObject
from tests.cases.fake_port import PortCall
from tests.crashes.watched_fakes import IDEMPOTENT


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
    yield from _faults_of_starts(records)
    started = defaultdict[int, list[JsonObject]](list)
    for record in records:
        if record["type"] == "tool_call_started":
            started[record["call"]].append(json.loads(record["arguments"]))
    bodies = defaultdict[str, list[JsonObject]](list)
    for call in sent:
        key, plain = call.key.strip('"'), f"{session}/{call.body['call']}"
        bodies[key].append(call.body)
        if key not in (plain, f"{plain}/approved"):
            yield f"call {call.body['call']} has the key {key}"
        if call.arguments not in started[call.body["call"]]:
            yield f"call {call.body['call']} was sent with {call.arguments}, which is not in the log"
    for key, same in bodies.items():
        if len(same) > (lives if same[0]["tool"] in IDEMPOTENT else 1):
            yield f"{key} of {same[0]['tool']} was sent {len(same)} times"
        if any(body != same[0] for body in same):
            yield f"{key} was sent again with another body"
    answered = {record["call"] for record in records if record["type"] == "tool_result" and record["status"] == "ok"}
    if never_sent := answered & started.keys() - {body["call"] for same in bodies.values() for body in same}:
        yield f"the calls {never_sent} have results and were never sent"


def _faults_of_starts(records: Iterable[JsonObject]) -> Iterator[str]:
    in_flight: set[int] = set()
    for record in records:
        if record["type"] == "approval_requested":
            # The port that wants an approval has done nothing, and gets the call again (A1b).
            in_flight -= {pending["call"] for pending in record["calls"]}
        elif record["type"] == "tool_call_started":
            if record["call"] in in_flight:
                yield f"call {record['call']} was started twice"
            in_flight.add(record["call"])
