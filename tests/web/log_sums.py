"""What the log says that a scrape should tell: sums over exported records, made without the service's own counting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from service.core.json_types import JsonObject
from tests.web.scraped import Sample, sample

Records = Sequence[JsonObject]


def sums_of(sessions: Iterable[Records], readings: Iterable[Records]) -> dict[Sample, float]:
    """Sum up logs of sessions and of readings; what they say nothing of is not there."""
    found: Counter[Sample] = Counter()
    for records in sessions:
        for record in records:
            found.update(_of_record(record))
        found.update(_of_calls(records))
    for records in readings:
        for record in records:
            found.update(_of_reading(record))
        found.update(_of_chunks(records))
    return {name: number for name, number in found.items() if number}


def _of_record(record: JsonObject) -> dict[Sample, float]:
    match record["type"]:
        case "turn_finished":
            name = sample("turnkeeper_turns_total", outcome=record["outcome"], limit=record.get("limit", "none"))
            ended: dict[Sample, float] = {name: 1}
            if "error" in record:
                ended[sample("turnkeeper_turn_errors_total", kind=record["error"]["kind"])] = 1
            return ended
        case "usage":
            return _tokens(record, "summary" if record.get("summary") else "turn", 1)
        case "summary":
            freed = sample("turnkeeper_compaction_freed_tokens_total")
            return {
                sample("turnkeeper_compactions_total", result="summarised"): 1,
                freed: record["tokens_before"] - record["tokens_after"],
                **_tokens(record["usage"], "summary", record["usage"]["completions"]),
            }
        case "attempt":
            return {sample("turnkeeper_attempts_total", kind=record["kind"]): 1}
        case "cache_loss":
            return {
                sample("turnkeeper_cache_losses_total", reason=record["reason"]): 1,
                sample("turnkeeper_cache_lost_tokens_total", reason=record["reason"]): record["lost_tokens"],
            }
        case "tool_result":
            return {sample("turnkeeper_tool_calls_total", status=record["status"]): 1}
        case "approval_requested":
            return {sample("turnkeeper_approvals_requested_total"): len(record["calls"])}
        case "approval_decided":
            decision = "approved" if record["approved"] else "denied"
            return {
                sample("turnkeeper_approvals_decided_total", decision=decision): 1,
                sample("turnkeeper_approval_wait_seconds_count"): 1,
            }
        case _:
            return {}


def _tokens(spent: JsonObject, work: str, completions: int) -> dict[Sample, float]:
    prompt, cached = spent["prompt_tokens"], spent["cached_tokens"]
    return {
        sample("turnkeeper_completions_total", work=work): completions,
        sample("turnkeeper_tokens_total", kind="cached", work=work): cached,
        sample("turnkeeper_tokens_total", kind="evaluated", work=work): prompt - cached,
        sample("turnkeeper_tokens_total", kind="generated", work=work): spent["completion_tokens"],
        sample("turnkeeper_reasoning_tokens_total", work=work): spent["reasoning_tokens"],
    }


def _of_calls(records: Records) -> Counter[Sample]:
    """Count the calls that were sent to the port and came back, by status."""
    sent = {record["call"] for record in records if record["type"] == "tool_call_started"}
    results = (record for record in records if record["type"] == "tool_result" and record["call"] in sent)
    return Counter(sample("turnkeeper_tool_call_duration_seconds_count", status=record["status"]) for record in results)


def _of_reading(record: JsonObject) -> dict[Sample, float]:
    match record["type"]:
        case "run_end":
            outcome = record["outcome"]
            return {
                sample("turnkeeper_readings_total", outcome=outcome): 1,
                sample("turnkeeper_reading_duration_seconds_count", outcome=outcome): 1,
            }
        case "usage":
            return _tokens(record["usage"], "reading", record["usage"]["completions"])
        case "gate":
            return {
                sample("turnkeeper_reading_gates_total", gate=gate, state="open" if record[gate] else "shut"): 1
                for gate in ("update", "exit")
            }
        case _:
            return {}


def _of_chunks(records: Records) -> Counter[Sample]:
    """Say of each chunk what came of it: the kind of the last record about it before its `usage` decides."""
    found: Counter[Sample] = Counter()
    came = ""
    for record in records:
        if record["type"] == "usage" and record["chunk"] is not None:
            result = {"memory": "used", "gate": "unused"}.get(came, came)
            found[sample("turnkeeper_reading_chunks_total", result=result)] += 1
        came = record["type"]
    return found


def durations(records: Records) -> list[float]:
    """Give the seconds of each turn that began, from its message to its end, without its waits for people."""
    found: list[float] = []
    begun = asked = None
    waited_s = 0.0
    for record in records:
        at = datetime.fromisoformat(record["time"])
        if record["type"] == "user":
            begun, asked, waited_s = at, None, 0.0
        if record["type"] == "approval_requested":
            asked = at
        elif asked is not None:
            # In these logs one call is asked for at a time, so whatever comes next ends the wait.
            waited_s += (at - asked).total_seconds()
            asked = None
        if record["type"] == "turn_finished" and begun is not None:
            found.append((at - begun).total_seconds() - waited_s)
    return found
