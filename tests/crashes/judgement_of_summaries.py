"""What must be true of the summaries in a log: no call was open, and none is parted from its result (C1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from service.core.json_types import JsonObject
from tests.crashes.logs import of_type


def faults_of_summaries(records: Sequence[JsonObject]) -> Iterator[str]:
    """Say where a summary was put in between a call and its result, or covers what it can't."""
    said_in = {call["call"]: r["seq"] for r in of_type(records, "assistant") for call in r["tool_calls"]}
    result_in = {record["call"]: record["seq"] for record in of_type(records, "tool_result")}
    covered = 0
    for summary in of_type(records, "summary"):
        at, covers = summary["seq"], summary["covers"]
        if not covered <= covers < at:
            yield f"the summary {at} covers {covers}, behind one that covers {covered}"
        covered = covers
        for call, said in said_in.items():
            result = result_in.get(call, len(records))
            if said < at < result:
                yield f"call {call} was open when the summary {at} was written"
            if said <= covers < result:
                yield f"the summary {at} covers call {call} without its result"
