"""Whether a log is what was appended: records in, the first fault out (S3).

It sees one record at a time, so a log of any length takes the memory of its longest record, and some bytes for each
call of a turn that people were asked about. `verify_chain` is what holds for every log; sessions and readings add what
their records must say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import cast

from service.core.approval_trail import NO_SIGNATURES_WANTED, ApprovalTrail, SignaturesWanted
from service.core.chain import EMPTY, Head, link
from service.core.ids import ReadingId, SessionId
from service.core.json_types import JsonObject, JsonValue
from service.core.kept_documents import DocumentText, documents_fault
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
    DOCUMENT = "document"
    HEAD = "head"
    APPROVAL = "approval"
    SIGNATURE = "signature"
    READING = "reading"
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


BodyCheck = Callable[[KeptRecord, JsonObject], Fault | None]
"""Looks at a body that is the one that was appended, and at its members; it sees the records in order."""


def _nothing_more(_record: KeptRecord, _members: JsonObject) -> None:
    """Accept what a chain with its documents says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRules:
    """What must hold for the records of one log, beyond their places and hashes.

    `noun` is what has the log, for messages; `envelope` gives the members by which a body names its place.
    """

    noun: str
    envelope: Callable[[KeptRecord], Mapping[str, str | int | None]]
    fault_of: BodyCheck


def verify_log(
    session: SessionId,
    head: Head,
    records: Iterable[KeptRecord],
    *,
    specs: Callable[[str], bytes | None],
    kept: KeptHeads = NOTHING_KEPT,
    signatures: SignaturesWanted = NO_SIGNATURES_WANTED,
) -> Verdict:
    """Check a session's log from its first record on, and stop at its first fault.

    `head` is what the session's row says; `records` come by `seq`; `specs` reads a spec list by its hash; `kept`
    are heads of this session that were kept elsewhere; `signatures` are those that decisions must have (A5).
    """
    bodies = _SessionBodies(specs=specs, signatures=signatures, approvals=ApprovalTrail(session))

    def envelope(record: KeptRecord) -> Mapping[str, str | int | None]:
        return {"session": session, "seq": record.seq, "turn": record.turn, "type": record.type}

    rules = LogRules(noun="session", envelope=envelope, fault_of=bodies.fault_of)
    return verify_chain(rules, head, records, kept=kept)


def verify_reading_log(
    reading: ReadingId,
    head: Head,
    records: Iterable[KeptRecord],
    *,
    text: DocumentText,
    bodies: BodyCheck = _nothing_more,
    kept: KeptHeads = NOTHING_KEPT,
) -> Verdict:
    """Check a reading's log from its first record on, and the texts that it names; stop at the first fault.

    `head` is what the reading's row says; `records` come by `seq`; `text` reads what it read; `bodies` looks at what
    the records say to each other; `kept` are heads of this reading that were kept elsewhere.
    """

    def fault_of(record: KeptRecord, members: JsonObject) -> Fault | None:
        wrong = documents_fault(members, text) if record.type == "reading_created" else None
        if wrong is not None:
            return Fault(seq=record.seq, kind=FaultKind.DOCUMENT, what=wrong)
        return bodies(record, members)

    def envelope(record: KeptRecord) -> Mapping[str, str | int | None]:
        return {"reading": reading, "seq": record.seq, "type": record.type}

    return verify_chain(LogRules(noun="reading", envelope=envelope, fault_of=fault_of), head, records, kept=kept)


def verify_chain(
    rules: LogRules, head: Head, records: Iterable[KeptRecord], *, kept: KeptHeads = NOTHING_KEPT
) -> Verdict:
    """Check the places, bodies, hashes and head of a log, and its rules beside them; stop at the first fault."""
    end, last_pos = EMPTY, 0
    for record in records:
        fault = (
            _fault_of_place(record, end.seq, last_pos)
            or _fault_of_body(record, end.hash, rules)
            or _fault_against_kept(record, kept)
        )
        if fault is not None:
            return Verdict(head=end, fault=fault)
        end, last_pos = Head(seq=record.seq, hash=record.hash), record.pos
        if record.seq == head.seq and record.hash != head.hash:
            what = f"the {rules.noun}'s head has another hash than the record it names"
            return Verdict(head=end, fault=Fault(seq=head.seq, kind=FaultKind.HEAD, what=what))
    return Verdict(head=end, fault=_fault_of_end(end, head, kept, rules.noun))


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


def _fault_of_body(record: KeptRecord, previous: bytes, rules: LogRules) -> Fault | None:
    members = _members_of(record.body)
    # First what the body says of its place: that a whole record stands elsewhere tells more than that its hash is off.
    wrong = None if members is None else _wrong_envelope(rules.envelope(record), members)
    if wrong is not None:
        return Fault(seq=record.seq, kind=FaultKind.ENVELOPE, what=wrong)
    if link(previous, record.body) != record.hash:
        what = "its body is not the one that was hashed (or its hash was changed)"
        return Fault(seq=record.seq, kind=FaultKind.BODY, what=what)
    if members is None:
        return Fault(seq=record.seq, kind=FaultKind.ENVELOPE, what="its body is no JSON object")
    return rules.fault_of(record, members)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SessionBodies:
    """Looks at the bodies of one session's log, in order: `approvals` remembers what earlier ones said."""

    specs: Callable[[str], bytes | None]
    signatures: SignaturesWanted
    approvals: ApprovalTrail

    def fault_of(self, record: KeptRecord, members: JsonObject) -> Fault | None:
        return (
            _fault_of_text(record, members)
            or _fault_of_specs(record, members, self.specs)
            or self._fault_of_approvals(record, members)
        )

    def _fault_of_approvals(self, record: KeptRecord, members: JsonObject) -> Fault | None:
        wrong = self.approvals.fault_of(record.type, record.turn, members)
        if wrong is not None:
            return Fault(seq=record.seq, kind=FaultKind.APPROVAL, what=wrong)
        wrong = self.signatures.fault_of(record.type, members)
        return None if wrong is None else Fault(seq=record.seq, kind=FaultKind.SIGNATURE, what=wrong)


def _members_of(body: bytes) -> JsonObject | None:
    try:
        members: object = json.loads(body.decode())
    except (ValueError, RecursionError):
        return None
    return cast(JsonObject, members) if isinstance(members, dict) else None


def _wrong_envelope(expected: Mapping[str, str | int | None], members: JsonObject) -> str | None:
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


def _fault_of_end(end: Head, head: Head, kept: KeptHeads, noun: str) -> Fault | None:
    if end.seq == 0:
        return Fault(seq=1, kind=FaultKind.GAP, what="the log is empty, though each begins with how it was made")
    if end.seq < head.seq:
        what = f"the log ends at record {end.seq}, but the {noun}'s head is {head.seq}: its tail is missing"
        return Fault(seq=end.seq + 1, kind=FaultKind.GAP, what=what)
    if end.seq > head.seq:
        what = f"the log goes on behind the {noun}'s head, which is {head.seq}"
        return Fault(seq=max(head.seq, 0) + 1, kind=FaultKind.HEAD, what=what)
    last_kept = max(kept, default=0)
    if last_kept > end.seq:
        what = f"the log ends at record {end.seq}, but the head of record {last_kept} was kept: its tail was cut"
        return Fault(seq=end.seq + 1, kind=FaultKind.KEPT_HEAD, what=what)
    return None
