"""S3, R8: a reading's log and the texts that it names; each change is found where it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

import pytest

from service.core.chain import EMPTY, Head, link
from service.core.ids import ReadingId
from service.core.json_types import JsonObject
from service.core.kept_documents import documents_fault
from service.core.verification import Fault, FaultKind, KeptRecord, verify_reading_log

pytestmark = [pytest.mark.rules("S3", "R8")]

READING = ReadingId("rdg_1")
TEXTS = [b"one", b"", b"x" * 3_000_000]


class Texts:
    """Texts as a store gives them, and how much was asked for at once."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self.texts = texts
        self.longest = 0

    def read(self, document: int, start: int, end: int) -> bytes | None:
        self.longest = max(self.longest, end - start)
        return self.texts[document - 1][start:end] if document <= len(self.texts) else None


def named(texts: Sequence[bytes]) -> JsonObject:
    return {"documents": [{"bytes": len(text), "sha256": sha256(text).hexdigest()} for text in texts]}


def record(seq: int, record_type: str, previous: bytes, **members: object) -> KeptRecord:
    said = {"reading": READING, "seq": seq, "time": "t", "type": record_type, **members}
    body = json.dumps(said).encode()
    return KeptRecord(
        turn=None, type=record_type, seq=seq, pos=seq + 10, body=body, hash=link(previous, body), full=None
    )


def log(texts: Sequence[bytes] = TEXTS) -> list[KeptRecord]:
    records = [record(1, "reading_created", EMPTY.hash, **named(texts))]
    for seq, name in ((2, "gate"), (3, "usage")):
        records.append(record(seq, name, records[-1].hash))
    return records


def head_of(records: Sequence[KeptRecord]) -> Head:
    return Head(seq=records[-1].seq, hash=records[-1].hash)


def test_a_log_that_is_whole_has_no_fault() -> None:
    records = log()
    verdict = verify_reading_log(READING, head_of(records), records, text=Texts(TEXTS).read)
    assert (verdict.head, verdict.fault) == (head_of(records), None)


def test_a_log_that_has_not_ended_is_no_fault() -> None:
    records = log()[:2]
    assert verify_reading_log(READING, head_of(records), records, text=Texts(TEXTS).read).fault is None


LOG = log()


@pytest.mark.parametrize(
    ("records", "kind"),
    [
        (LOG[:2], FaultKind.GAP),
        ([LOG[0], LOG[2]], FaultKind.GAP),
        ([LOG[0], LOG[0]], FaultKind.ORDER),
        ([LOG[0], replace(LOG[1], type="usage"), LOG[2]], FaultKind.ENVELOPE),
        ([LOG[0], replace(LOG[1], body=LOG[1].body + b" "), LOG[2]], FaultKind.BODY),
        ([LOG[0], replace(LOG[1], hash=bytes(32)), LOG[2]], FaultKind.BODY),
    ],
)
def test_what_holds_for_every_log_is_checked(records: list[KeptRecord], kind: FaultKind) -> None:
    verdict = verify_reading_log(READING, head_of(LOG), records, text=Texts(TEXTS).read)
    assert verdict.fault is not None
    assert verdict.fault.kind is kind


def test_records_of_another_reading_are_not_those_of_this_one() -> None:
    records = log()
    verdict = verify_reading_log(ReadingId("rdg_2"), head_of(records), records, text=Texts(TEXTS).read)
    assert verdict.fault == Fault(seq=1, kind=FaultKind.ENVELOPE, what='its body says "rdg_1" for reading, not "rdg_2"')


def test_a_head_behind_the_log_is_named_as_the_readings() -> None:
    records = log()
    verdict = verify_reading_log(READING, Head(seq=2, hash=records[1].hash), records, text=Texts(TEXTS).read)
    assert verdict.fault is not None
    assert "the reading's head" in verdict.fault.what


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        ([b"onf", b"", TEXTS[2]], "the text of document 1 is not the one that it names"),
        ([b"one", b"x", TEXTS[2]], "the text of document 2 is not the one that it names"),
        ([b"one", b"", TEXTS[2][:-1]], "the text of document 3 is not the one that it names"),
        ([b"one", b"", TEXTS[2] + b"x"], "the text of document 3 is not the one that it names"),
        ([b"one", b""], "the text of document 3 is missing"),
        ([], "the text of document 1 is missing"),
        ([*TEXTS, b""], "there is a text of document 4, which it doesn't name"),
    ],
)
def test_texts_that_are_not_those_that_are_named_are_found(texts: Sequence[bytes], what: str) -> None:
    records = log()
    verdict = verify_reading_log(READING, head_of(records), records, text=Texts(texts).read)
    assert verdict.fault == Fault(seq=1, kind=FaultKind.DOCUMENT, what=what)


@pytest.mark.parametrize("documents", [None, 7, "text", {}, [7], [None], [{}], [{"bytes": "3", "sha256": 4}]])
def test_a_record_that_names_no_documents_fits_no_text(documents: object) -> None:
    assert documents_fault({"documents": documents}, Texts([b"one"]).read) is not None


def test_a_long_text_is_read_piece_by_piece() -> None:
    texts = Texts(TEXTS)
    assert documents_fault(named(TEXTS), texts.read) is None
    assert texts.longest <= 1024 * 1024


def test_what_bodies_say_is_looked_at_in_order_and_the_first_fault_ends_it() -> None:
    records, seen = log(), list[int]()

    def bodies(record: KeptRecord, members: JsonObject) -> Fault | None:
        seen.append(members["seq"])
        return Fault(seq=record.seq, kind=FaultKind.DOCUMENT, what="no") if record.type == "gate" else None

    verdict = verify_reading_log(READING, head_of(records), records, text=Texts(TEXTS).read, bodies=bodies)
    assert (seen, verdict.fault) == ([1, 2], Fault(seq=2, kind=FaultKind.DOCUMENT, what="no"))
    assert verdict.head == Head(seq=1, hash=records[0].hash)
