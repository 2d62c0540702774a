"""What must be true of a reading when it is over, however often the service was killed in it (R5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from service.core.json_types import JsonObject
from tests.crashes.reading_client import Reading
from tests.crashes.watched_reader import AskedSection

_OF_ONE_LIFE = ("reading", "seq", "pos", "time", "fence")
_AT_THE_END = (99, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """A kill: how many requests there had been, and the texts of what was finished by then."""

    asked: int
    finished: frozenset[str]


def faults_of_reading(
    reading: Reading, records: Sequence[JsonObject], whole: Sequence[JsonObject], view: JsonObject
) -> Iterator[str]:
    """Say all that is wrong with its log, beside that of the same reading in which nothing was killed."""
    if [record["seq"] for record in records] != list(range(1, len(records) + 1)):
        yield "the log has a gap"
    ends = [record for record in records if record["type"] == "run_end"]
    if len(ends) != 1 or records[-1] is not ends[0]:
        yield f"it has {len(ends)} ends"
        return
    if [{name: data[name] for name in data if name != "pos"} for _, data in reading.frames] != list(records):
        yield f"the client was shown {[data['seq'] for _, data in reading.frames]} of {len(records)} records"
    end = ends[0]
    told = {name: view[name] for name in ("outcome", "chunks_seen", "chunks_used", "calls", "usage")}
    if view["state"] != "finished" or told != {name: end[name] for name in told}:
        yield f"the resource says {told}, the log {end}"
    yield from _faults_of_cancel(reading, records, whole) if reading.scenario.cancels else _differences(records, whole)
    if not reading.scenario.cancels and end["outcome"] != reading.scenario.outcome:
        yield f"it ended as {end['outcome']} {end['error']}"


def _differences(records: Sequence[JsonObject], whole: Sequence[JsonObject]) -> Iterator[str]:
    ours, others = canonical(records), canonical(whole)
    for one, other in zip(ours, others, strict=False):
        if one != other:
            yield f"it has {one} where one that was not killed has {other}"
            return
    if len(ours) != len(others):
        yield f"it has {len(ours)} records, one that was not killed {len(others)}"


def _faults_of_cancel(reading: Reading, records: Sequence[JsonObject], whole: Sequence[JsonObject]) -> Iterator[str]:
    end = records[-1]
    if end["outcome"] == "answered":
        yield from _differences(records, whole)
    else:
        yield from _differences(records[:-1], whole[: len(records) - 1])
    if end["outcome"] not in ("answered", "cancelled"):
        yield f"it ended as {end['outcome']} {end['error']}"
    if reading.cancelled is not None and reading.cancelled["outcome"] != end["outcome"]:
        yield f"it was told to be {reading.cancelled['outcome']} and is {end['outcome']}"


def faults_of_asking(asked: Sequence[AskedSection], deaths: Sequence[Death]) -> Iterator[str]:
    """Say what the model was asked about again though it was finished, or more often than there were lives."""
    for death in deaths:
        again = [one.text for one in asked[death.asked :] if one.text in death.finished and not one.is_answer]
        yield from (f"a finished chunk was asked about again: {text[:40]!r}" for text in again)
    times = Counter((one.text, one.attempt, one.is_answer) for one in asked)
    for (text, attempt, _), count in times.items():
        if count > 1 + len(deaths):
            yield f"{text[:40]!r} was asked about {count} times at attempt {attempt}, in {1 + len(deaths)} lives"


def canonical(records: Iterable[JsonObject]) -> list[JsonObject]:
    """Leave out what is another in each life, and put the records of documents that are read side by side in order."""
    return [_bare(record) for record in sorted(records, key=_run_of)]


def _bare(record: JsonObject) -> JsonObject:
    bare: JsonObject = {name: value for name, value in record.items() if name not in _OF_ONE_LIFE}
    if record["type"] == "reading_created":
        mark = record["query"].partition(":")[0]
        documents = [{**document, "name": document["name"].replace(mark, "")} for document in record["documents"]]
        bare |= {"query": record["query"].removeprefix(mark), "documents": documents}
    return bare


def _run_of(record: JsonObject) -> tuple[int, int]:
    match record["type"]:
        case "reading_created" | "reading_planned":
            return (0, 0)
        case "run_end" | "answer":
            return _AT_THE_END
        case "usage" if record["document"] is None:
            return _AT_THE_END
        case kind:
            level = record["level"] + (kind == "evidence")
            return (level, record["document"] if level == 1 else 0)
