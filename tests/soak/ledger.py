"""What was promised to the clients of a session, and what they saw of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from service.core.json_types import JsonObject
from tests.cases.fake_port import PortCall
from tests.crashes.judgement_of_calls import faults_of_calls, faults_of_sending

_STATUSES = frozenset({"ok", "failed", "interrupted", "cancelled", "repeated", "not_run"})
_NO_FAULT_OF_OURS = frozenset({"stream_closed", "stalled", "empty_answer", "crashed", "load_timeout", "connect"})


@dataclass(slots=True)
class Accepted:
    """A message that was accepted; `seen` are the records that its stream showed from its beginning, by `pos`."""

    key: str
    content: str
    turn: str
    seen: list[int] | None = None


@dataclass(slots=True)
class SessionLedger:
    """One session's messages; `began_in` is the life of the service in which it was made."""

    path: str
    name: str
    began_in: int
    accepted: list[Accepted] = field(default_factory=list[Accepted])

    @property
    def id(self) -> str:
        return self.path.rpartition("/")[2]

    def faults(self, records: Sequence[JsonObject], sent: Sequence[PortCall], *, lives: int) -> Iterator[str]:
        """Say what is wrong with the session's log when all its turns are over."""
        if [record["seq"] for record in records] != list(range(1, len(records) + 1)):
            yield "the log has a gap"
        yield from self._faults_of_turns(records)
        yield from faults_of_calls(records, _STATUSES)
        yield from faults_of_sending(self.id, records, sent, lives=lives - self.began_in + 1)

    def _faults_of_turns(self, records: Sequence[JsonObject]) -> Iterator[str]:
        turns = list(dict.fromkeys(record["turn"] for record in records if record["turn"]))
        promised = {one.turn: one for one in self.accepted}
        if lost := promised.keys() - set(turns):
            yield f"the turns {lost} were accepted and are not in the log"
        if foreign := set(turns) - promised.keys():
            yield f"nobody asked for the turns {foreign}"
        if len(promised) != len(self.accepted):
            yield "two keys gave the same turn"
        ends = Counter(record["turn"] for record in records if record["type"] == "turn_finished")
        if wrong := [turn for turn in turns if ends[turn] != 1]:
            yield f"the turns {wrong} have no end, or two"
        yield from self._faults_of_records(records, promised)
        for one in self.accepted:
            if one.seen is not None and one.seen != [r["pos"] for r in records if r["turn"] == one.turn]:
                yield f"the stream of {one.turn} showed {one.seen}"

    def _faults_of_records(self, records: Sequence[JsonObject], promised: Mapping[str, Accepted]) -> Iterator[str]:
        for record in records:
            if record["type"] == "turn_finished" and record["outcome"] == "failed":
                if record["error"]["kind"] not in _NO_FAULT_OF_OURS:
                    yield f"turn {record['turn']} failed: {record['error']}"
            elif record["type"] in ("user", "turn_queued"):
                one = promised.get(record["turn"])
                if one is not None and one.content != record["content"]:
                    yield f"turn {record['turn']} has another message"
