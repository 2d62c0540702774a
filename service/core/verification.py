"""Whether a session's log is what was appended: records in, the first fault out (S3).

It sees one record at a time, so a log of any length takes the memory of its longest record. A check of what some
records say to each other (readings, signatures) has its place beside `_fault_of_text`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import cast

from service.core.chain import EMPTY, Head, link
from service.core.ids import SessionId
from service.core.json_types import JsonObject, JsonValue
from service.core.kept_heads import NOTHING_KEPT, KeptHeads
from service.core.visible import visible
from service.core.whole_text import whole_text_fault


class FaultKind(StrEnum):
    """What is wrong."""

    GAP = "gap"
    ORDER = "order"
    ENVELOPE = "envelope"
    BODY = "body"
    FULL_TEXT = "full_text"
    SPECS = "specs"
    HEAD = "head"
    KEPT_HEAD = "kept_head"
    DAMAGE = "damage"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRecord:
    """A record with all that the store keeps of it; `full` is the whole text of a result that was cut (T9)."""

    turn: str | None
    type: str
    seq: int
    pos: int
    body: bytes
    hash: bytes
    full: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The first place where a log is wrong: a `seq` of it, and `what` in a clause."""

    seq: int
    kind: FaultKind
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a check found: how far the log is right, and the fault behind that, if there is one."""

    head: Head
    fault: Fault | None


def verify_log(
    session: SessionId,
    head: Head,
    records: Iterable[KeptRecord],
    *,
    specs: Callable[[str], bytes | None],
    kept: KeptHeads = NOTHING_KEPT,
) -> Verdict:
    """Check a log from its first record on, and stop at its first fault.

    `head` is what the session's row says; `records` come by `seq`; `specs` reads a spec list by its hash; `kept`
    are heads of this session that were kept elsewhere.
    """
    end, last_pos = EMPTY, 0
    for record in records:
        fault = (
            _fault_of_place(record, end.seq, last_pos)
            or _fault_of_body(session, record, end.hash, specs)
            or _fault_against_kept(record, kept)
        )
        if fault is not None:
            return Verdict(head=end, fault=fault)
        end, last_pos = Head(seq=record.seq, hash=record.hash), record.pos
        if record.seq == head.seq and record.hash != head.hash:
            what = "the session's head has another hash than the record it names"
            return Verdict(head=end, fault=Fault(seq=head.seq, kind=FaultKind.HEAD, what=what))
    return Verdict(head=end, fault=_fault_of_end(end, head, kept))


def _fault_of_place(record: KeptRecord, last_seq: int, last_pos: int) -> Fault | None:
    expected = last_seq + 1
    if record.seq > expected:
        missing = f"record {expected}" if record.seq == expected + 1 else f"records {expected} to {record.seq - 1}"
        return Fault(seq=expected, kind=FaultKind.GAP, what=f"{missing} missing before record {record.seq}")
    if record.seq < expected:
        return Fault(seq=record.seq, kind=FaultKind.ORDER, what=f"a second record {record.seq}")
    if record.pos <= last_pos:
        what = f"its pos {record.pos} is not behind that of the record before it ({last_pos})"
        return Fault(seq=record.seq, kind=FaultKind.ORDER, what=what)
    return None


def _fault_of_body(
    session: SessionId, record: KeptRecord, previous: bytes, specs: Callable[[str], bytes | None]
) -> Fault | None:
    members = _members_of(record.body)
    # First what the body says of its place: that a whole record stands elsewhere tells more than that its hash is off.
    wrong = None if members is None else _wrong_envelope(session, record, members)
    if wrong is not None:
        return Fault(seq=record.seq, kind=FaultKind.ENVELOPE, what=wrong)
    if link(previous, record.body) != record.hash:
        what = "its body is not the one that was hashed (or its hash was changed)"
        return Fault(seq=record.seq, kind=FaultKind.BODY, what=what)
    if members is None:
        return Fault(seq=record.seq, kind=FaultKind.ENVELOPE, what="its body is no JSON object")
    return _fault_of_text(record, members) or _fault_of_specs(record, members, specs)


def _members_of(body: bytes) -> JsonObject | None:
    try:
        members: object = json.loads(body.decode())
    except (ValueError, RecursionError):
        return None
    return cast(JsonObject, members) if isinstance(members, dict) else None


def _wrong_envelope(session: SessionId, record: KeptRecord, members: JsonObject) -> str | None:
    expected = {"session": session, "seq": record.seq, "turn": record.turn, "type": record.type}
    for name, value in expected.items():
        said = members.get(name, ...)
        # True is 1 in Python, but not in JSON.
        if said != value or isinstance(said, bool):
            return f"its body says {_shown(said)} for {name}, not {_shown(value)}"
    return None


def _shown(value: object) -> str:
    if value is ...:
        return "nothing"
    plain = value is None or isinstance(value, str | int)
    return visible(json.dumps(value, ensure_ascii=False), 80) if plain else "something else"


def _fault_of_text(record: KeptRecord, members: JsonObject) -> Fault | None:
    content, original_bytes = members.get("content"), members.get("original_bytes", 0)
    if record.type != "tool_result" or not isinstance(content, str) or not isinstance(original_bytes, int):
        content, original_bytes = "", 0
    wrong = whole_text_fault(content, original_bytes, record.full)
    return None if wrong is None else Fault(seq=record.seq, kind=FaultKind.FULL_TEXT, what=wrong)


def _fault_of_specs(record: KeptRecord, members: JsonObject, specs: Callable[[str], bytes | None]) -> Fault | None:
    name = _specs_named(members) if record.type == "session_created" else None
    if name is None:
        return None
    body = specs(name)
    if body is None:
        what = f"the tool specs that it names ({name}) are missing"
    elif sha256(body).hexdigest() != name:
        what = f"the tool specs that it names ({name}) are not those that are kept"
    else:
        return None
    return Fault(seq=record.seq, kind=FaultKind.SPECS, what=what)


def _specs_named(members: JsonObject) -> str | None:
    found: JsonValue = members
    for name in ("baseline", "tools", "hash"):
        if not isinstance(found, dict):
            return None
        found = cast(JsonObject, found).get(name)
    return found if isinstance(found, str) else None


def _fault_against_kept(record: KeptRecord, kept: KeptHeads) -> Fault | None:
    if all(hash_ == record.hash for hash_ in kept.get(record.seq, ())):
        return None
    good = max((seq for seq in kept if seq < record.seq), default=0)
    what = f"it is not the record whose head was kept: the log was written anew from record {good + 1} on, or later"
    return Fault(seq=record.seq, kind=FaultKind.KEPT_HEAD, what=what)


def _fault_of_end(end: Head, head: Head, kept: KeptHeads) -> Fault | None:
    if end.seq == 0:
        return Fault(seq=1, kind=FaultKind.GAP, what="the log is empty, though each begins with how it was made")
    if end.seq < head.seq:
        what = f"the log ends at record {end.seq}, but the session's head is {head.seq}: its tail is missing"
        return Fault(seq=end.seq + 1, kind=FaultKind.GAP, what=what)
    if end.seq > head.seq:
        what = f"the log goes on behind the session's head, which is {head.seq}"
        return Fault(seq=max(head.seq, 0) + 1, kind=FaultKind.HEAD, what=what)
    last_kept = max(kept, default=0)
    if last_kept > end.seq:
        what = f"the log ends at record {end.seq}, but the head of record {last_kept} was kept: its tail was cut"
        return Fault(seq=end.seq + 1, kind=FaultKind.KEPT_HEAD, what=what)
    return None
