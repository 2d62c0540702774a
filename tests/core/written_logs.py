"""Logs as the service writes them: a session with tools, messages, and results that were cut."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256

from service.codec import encode_record
from service.core.baseline import Baseline, ToolSelection
from service.core.batch import close_call
from service.core.chain import EMPTY, Head, link
from service.core.ids import SessionId, TurnId
from service.core.records import Entry, Record, SessionCreated, ToolCall, TurnOptions, User
from service.core.result_cap import LEAST_CAP
from service.core.result_text import CallOutcome, ResultStatus
from service.core.verification import KeptRecord

SPECS = b'[{"name":"look"}]'
SPECS_HASH = sha256(SPECS).hexdigest()
SESSION = SessionId("ses_one")
OTHER = SessionId("ses_two")
TIME = datetime(2030, 1, 2, tzinfo=UTC)
LONG_TEXT = "line of a long result \U0001f9f6\n" * 40
CUT_EVERY = 3
"""Each such record is a result that was cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A session's log with the head beside it."""

    session: SessionId
    head: Head
    records: tuple[KeptRecord, ...]


def specs_of(name: str) -> bytes | None:
    """Read the one spec list that there is."""
    return SPECS if name == SPECS_HASH else None


def record_of(seq: int) -> tuple[Record, str | None]:
    """Give the record that stands at a seq, and the whole text of one that was cut."""
    if seq == 1:
        return SessionCreated(agent=None, baseline=Baseline(tools=ToolSelection(hash=SPECS_HASH))), None
    if seq % CUT_EVERY:
        return User(content=f"message {seq} \u2028 \U0001f9f6", options=TurnOptions()), None
    call = ToolCall(call=seq, tool_call_id=f"c{seq}", model_call_id=None, name="look", arguments="{}")
    closed = close_call(call, CallOutcome(status=ResultStatus.OK, text=f"{seq}: {LONG_TEXT}"), cap=LEAST_CAP)
    return closed.result, closed.whole


def written(length: int, session: SessionId = SESSION, first_pos: int = 1, step: int = 2) -> Log:
    """Write a log of so many records; its places in the store begin at `first_pos`."""
    kept: list[KeptRecord] = []
    for seq in range(1, length + 1):
        record, whole = record_of(seq)
        turn = None if seq == 1 else TurnId("trn_1")
        body = encode_record(Entry(session=session, turn=turn, seq=seq, time=TIME, record=record))
        full = None if whole is None else whole.encode()
        pos = first_pos + (seq - 1) * step
        kept.append(KeptRecord(turn=turn, type=record.type, seq=seq, pos=pos, body=body, hash=b"", full=full))
    records = hashed(kept)
    return Log(session=session, head=Head(seq=length, hash=records[-1].hash), records=records)


def hashed(records: Iterable[KeptRecord]) -> tuple[KeptRecord, ...]:
    """Hash records anew, each with what stands before it: what somebody does who rebuilds a log."""
    last, chained = EMPTY.hash, list[KeptRecord]()
    for record in records:
        last = link(last, record.body)
        chained.append(replace(record, hash=last))
    return tuple(chained)
