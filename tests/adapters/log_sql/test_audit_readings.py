"""S3, R8: readings are checked beside sessions: their places, hashes and head, and the texts that they name."""

from __future__ import annotations

import asyncio
import sqlite3
import tracemalloc
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from service.adapters.log_sql import open_sql_log
from service.adapters.log_sql.audit import open_audit
from service.codec import encode_reading_record
from service.core.ids import ReadingId, SessionId
from service.core.reading.options import ReadingOptions
from service.core.reading.records import (
    ReadDocument,
    ReadingCreated,
    ReadingEntry,
    ReadingPlanned,
    ReadingRecord,
    ReadingUsage,
)
from service.core.usage import UsageTotals
from service.core.verification import FaultKind, Verdict
from tests.adapters.log_contract import sessions_made
from tests.adapters.log_contract.readings_made import FINISHED, append, draft, make, new_reading
from tests.adapters.log_contract.sessions_made import LATER, START

pytestmark = [pytest.mark.rules("S3", "R8")]

READING = ReadingId("rdg_1")
TEXTS = ["Grüße. ".encode() * 30_000, b"", b"three"]


def body_of(seq: int, record: ReadingRecord) -> bytes:
    return encode_reading_record(ReadingEntry(reading=READING, seq=seq, time=START, record=record))


PLAN = ReadingPlanned(
    model=None,
    template="t",
    prompt=1,
    context_tokens=4096,
    chunk_tokens=1000,
    answer_tokens=512,
    fence="f",
    ends=tuple((len(text),) if text else () for text in TEXTS),
)
COST = ReadingUsage(level=1, document=None, chunk=None, usage=UsageTotals())
RECORDS = [draft(body_of(seq, record), record_type=record.type) for seq, record in enumerate((PLAN, COST), start=2)]


def created(texts: Sequence[bytes]) -> bytes:
    documents = tuple(
        ReadDocument(name="a", media_type="text/plain", bytes=len(text), sha256=sha256(text).hexdigest())
        for text in texts
    )
    return body_of(1, ReadingCreated(query="Where?", documents=documents, options=ReadingOptions(level=2)))


@pytest.fixture
def stored(url: str, database: Path) -> Path:
    """Give a store with a session and a finished reading of three documents."""

    async def write() -> None:
        async with open_sql_log(url) as log:
            await sessions_made.make(log, sessions_made.new_session("ses_1"))
            await make(log, new_reading(READING), TEXTS, created=created(TEXTS))
            await append(log, READING, 1, RECORDS, FINISHED)

    asyncio.run(write())
    return database


def verdict_of(url: str) -> Verdict | None:
    with open_audit(url) as audit:
        return audit.verify_reading(READING)


def change(database: Path, statement: str) -> None:
    """Change the file past the store, as somebody else would: references needn't hold."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(statement)


def test_a_reading_that_is_as_it_was_written_has_no_fault(url: str, stored: Path) -> None:
    assert stored.exists()
    verdict = verdict_of(url)
    assert verdict is not None
    assert (verdict.fault, verdict.head.seq) == (None, 3)


def test_sessions_and_readings_are_named_each_by_themselves(url: str, stored: Path) -> None:
    assert stored.exists()
    with open_audit(url) as audit:
        assert list(audit.sessions()) == ["ses_1"]
        assert list(audit.readings()) == [READING]
        assert list(audit.homeless()) == []
        assert audit.verify(SessionId(READING)) is None
        assert audit.verify_reading(ReadingId("ses_1")) is None


def test_heads_that_were_kept_are_compared(url: str, stored: Path) -> None:
    assert stored.exists()
    with open_audit(url) as audit:
        verdict = audit.verify_reading(READING, {2: {bytes(32)}})
    assert verdict is not None
    assert verdict.fault is not None
    assert (verdict.fault.seq, verdict.fault.kind) == (2, FaultKind.KEPT_HEAD)


@pytest.mark.parametrize(
    ("statement", "seq", "kind", "what"),
    [
        (
            "UPDATE records SET body = CAST(replace(body, 'reading_planned', 'reading_planted') AS BLOB) WHERE seq = 2",
            2,
            FaultKind.ENVELOPE,
            "its body",
        ),
        ("UPDATE records SET hash = zeroblob(32) WHERE seq = 3", 3, FaultKind.BODY, "not the one that was hashed"),
        ("DELETE FROM records WHERE type = 'usage'", 3, FaultKind.GAP, "the reading's head is 3"),
        ("DELETE FROM records WHERE type = 'reading_planned'", 2, FaultKind.GAP, "missing"),
        ("UPDATE sessions SET head_hash = zeroblob(32)", 3, FaultKind.HEAD, "the reading's head"),
        ("UPDATE sessions SET head_seq = 'x' WHERE kind = 'reading'", 1, FaultKind.DAMAGE, "the reading's head"),
        (
            "UPDATE document_texts SET body = CAST('thraa' AS BLOB) WHERE document = 3",
            1,
            FaultKind.DOCUMENT,
            "the text of document 3 is not the one",
        ),
        ("DELETE FROM document_texts WHERE part = 1", 1, FaultKind.DOCUMENT, "document 1 is not the one"),
        ("DELETE FROM document_texts WHERE document = 2", 1, FaultKind.DOCUMENT, "document 2 is missing"),
        ("DELETE FROM document_texts WHERE document = 3", 1, FaultKind.DOCUMENT, "document 3 is missing"),
        ("DELETE FROM document_texts", 1, FaultKind.DOCUMENT, "document 1 is missing"),
        (
            "INSERT INTO document_texts SELECT reading_key, 4, 0, body FROM document_texts WHERE document = 3",
            1,
            FaultKind.DOCUMENT,
            "document 4, which it doesn't name",
        ),
        (
            "INSERT INTO document_texts SELECT reading_key, 3, 1, body FROM document_texts WHERE document = 3",
            1,
            FaultKind.DOCUMENT,
            "document 3 is not the one",
        ),
        ("UPDATE document_texts SET body = 'three' WHERE document = 3", 1, FaultKind.DAMAGE, "another kind"),
        ("UPDATE document_texts SET body = 1000000000000 WHERE document = 3", 1, FaultKind.DAMAGE, "another kind"),
    ],
)
def test_what_was_changed_is_found(
    url: str, stored: Path, statement: str, seq: int, kind: FaultKind, what: str
) -> None:
    change(stored, statement)

    verdict = verdict_of(url)

    assert verdict is not None
    assert verdict.fault is not None
    assert (verdict.fault.seq, verdict.fault.kind) == (seq, kind)
    assert what in verdict.fault.what


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "DELETE FROM sessions WHERE kind = 'reading'",
            ["a record of no session (pos 2)", "a document's text of no reading (document 1)"],
        ),
        ("UPDATE document_texts SET reading_key = 1", ["a document's text of no reading (document 1)"]),
        ("UPDATE sessions SET kind = 'hidden' WHERE kind = 'reading'", ["a record of no session (pos 2)"]),
        (
            "UPDATE sessions SET kind = 'x' WHERE kind = 'session'",
            ["a record of no session (pos 1)", "a log that is neither a session's nor a reading's (key 1)"],
        ),
    ],
)
def test_what_belongs_to_no_reading_is_found(url: str, stored: Path, statement: str, expected: list[str]) -> None:
    change(stored, statement)

    with open_audit(url) as audit:
        assert list(audit.homeless()) == expected


@pytest.mark.parametrize(("one", "other"), [("session", "reading"), ("reading", "session")])
def test_a_log_that_is_said_to_be_of_the_other_kind_is_wrong(url: str, stored: Path, one: str, other: str) -> None:
    change(stored, f"UPDATE sessions SET kind = '{other}' WHERE kind = '{one}'")

    with open_audit(url) as audit:
        verdict = audit.verify_reading(ReadingId("ses_1")) if other == "reading" else audit.verify(SessionId(READING))
    assert verdict is not None
    assert verdict.fault is not None
    assert verdict.fault.kind is FaultKind.ENVELOPE


@pytest.mark.rules("S7")
def test_what_pruning_would_remove_is_named_and_stays(url: str, stored: Path) -> None:
    assert stored.exists()
    with open_audit(url) as audit:
        assert list(audit.finished_before(LATER)) == []
        assert list(audit.idle_before(LATER)) == ["ses_1"]
        assert list(audit.finished_before(LATER.replace(year=2031))) == [READING]
        assert list(audit.readings()) == [READING]


def test_a_long_text_is_checked_piece_by_piece(url: str) -> None:
    text = b"0123456789abcdef" * 1024 * 1024

    async def write() -> None:
        async with open_sql_log(url) as log:
            await make(log, new_reading(READING), [text], created=created([text]))

    asyncio.run(write())
    tracemalloc.start()
    try:
        verdict = verdict_of(url)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert verdict is not None
    assert (verdict.fault, verdict.head.seq) == (None, 1)
    assert peak < len(text) // 3


@pytest.mark.parametrize(
    ("statement", "kind", "what"),
    [
        ("{planned}", FaultKind.READING, "the chunks do not end where the documents do"),
        ("{unreadable}", FaultKind.BODY, "can't be read"),
    ],
)
def test_what_the_records_say_to_each_other_is_checked_behind_their_hashes(
    url: str, statement: str, kind: FaultKind, what: str
) -> None:
    bodies = {
        "{planned}": body_of(2, replace(PLAN, ends=((7,), (), (5,)))),
        "{unreadable}": body_of(2, PLAN).replace(b'"context_tokens":4096,', b""),
    }

    async def write() -> None:
        async with open_sql_log(url) as log:
            await make(log, new_reading(READING), TEXTS, created=created(TEXTS))
            await append(log, READING, 1, [draft(bodies[statement], record_type="reading_planned")], FINISHED)

    asyncio.run(write())
    verdict = verdict_of(url)

    assert verdict is not None
    assert verdict.fault is not None
    assert (verdict.fault.seq, verdict.fault.kind) == (2, kind)
    assert what in verdict.fault.what
