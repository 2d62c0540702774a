"""Records as JSON and back: exact bytes, one form, nothing lost (S3, S6)."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.codec import (
    UnreadableRecord,
    decode_record,
    encode_record,
    encode_signal,
    encode_stored,
    format_time,
    parse_time,
)
from service.core.baseline import Baseline, Limits, TemplateProfile, ToolMode, ToolSelection
from service.core.errors import ErrorKind
from service.core.ids import SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.labels import DataClass
from service.core.records import (
    ApprovalDecided,
    ApprovalRequested,
    Assistant,
    Attempt,
    CacheLoss,
    CacheLossReason,
    ChildLink,
    CutCall,
    DecisionSignature,
    Entry,
    ForkLink,
    HandoffReturned,
    HandoffStarted,
    Limit,
    Outcome,
    ParentLink,
    PendingCall,
    Record,
    ResultStatus,
    Resumed,
    SessionCreated,
    SessionTotals,
    StepUsage,
    Summary,
    ToolCall,
    ToolCallStarted,
    ToolResult,
    TurnError,
    TurnFinished,
    TurnOptions,
    TurnQueued,
    User,
)
from service.core.signals import ContentDelta, Queued, ShuttingDown, Signal
from service.core.usage import Timings, UsageTotals
from service.ports import StoredRecord

SESSION, TURN = SessionId("ses_1"), TurnId("trn_1")
MOMENT = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)

FULL: tuple[Record, ...] = (
    SessionCreated(
        agent="weather",
        baseline=Baseline(
            system="Be brief.",
            tools=ToolSelection(mode=ToolMode.DISCOVER, hash="h", names=("a", "b"), tokens=9),
            model="m",
            sampling={"temperature": 0.5, "stop": ["x"]},
            limits=Limits(max_tokens=3),
            template=TemplateProfile(hash="t", tools=True, parallel=False),
        ),
        parent=ParentLink(session=SESSION, turn=TURN, call=3),
        fork=ForkLink(session=SESSION, seq=4, hash="ab"),
        data_class=DataClass.INTERNAL,
        untrusted=True,
        depth=2,
    ),
    TurnQueued(content="Later", options=TurnOptions(response_format={"type": "json_object"})),
    User(content="Hi", options=TurnOptions(response_format={"type": "json_object"})),
    Assistant(
        step=1,
        content="c",
        reasoning="r",
        tool_calls=(ToolCall(call=1, tool_call_id="i", model_call_id=None, name="t", arguments="{"),),
        cut_calls=(CutCall(name="t", arguments="{"),),
        finish_reason="stop",
    ),
    StepUsage(
        step=1,
        prompt_tokens=1,
        cached_tokens=2,
        completion_tokens=3,
        reasoning_tokens=4,
        thinking_capped=True,
        timings=Timings(prompt_ms=1.5, predicted_ms=2.0, prompt_per_second=3.0, predicted_per_second=4.0),
        discarded=True,
        estimated=True,
        summary=True,
    ),
    CacheLoss(step=2, expected_tokens=90, cached_tokens=20, lost_tokens=70, reason=CacheLossReason.SLOT_TAKEN),
    Attempt(step=1, attempt=2, kind=ErrorKind.STALLED),
    ToolCallStarted(call=1, tool_call_id="i", name="t", arguments="{}"),
    ToolResult(
        call=1,
        tool_call_id="i",
        name="t",
        status=ResultStatus.OK,
        content="x",
        data_class=DataClass.SECRET,
        untrusted=True,
        fence="f",
        truncated=True,
        original_bytes=9,
        cap=8,
        limit=Limit.TOOL_ITERATIONS,
    ),
    ApprovalRequested(
        calls=(
            PendingCall(
                session=SESSION,
                turn=TURN,
                call=1,
                tool_call_id="i",
                name="n",
                title="N",
                arguments="{}",
                digest="sha256:ab",
                reason="It asks.",
                asked_at=MOMENT,
                expires_at=MOMENT,
            ),
        )
    ),
    ApprovalDecided(
        call=1,
        approved=True,
        digest="sha256:ab",
        arguments='{"a":1}',
        by="ann",
        reason="fine",
        signature=DecisionSignature(key="ann", value="c2ln"),
    ),
    HandoffStarted(call=1, agent="expert", child=ChildLink(session=SESSION, turn=TURN)),
    HandoffReturned(
        call=1, child=ChildLink(session=SESSION, turn=TURN), outcome=Outcome.ANSWERED, content="c", waited_s=1.5
    ),
    Summary(
        covers=4,
        text="They spoke.",
        shortened=(1, 2),
        tokens_before=90,
        tokens_after=30,
        data_class=DataClass.INTERNAL,
        untrusted=True,
        fence="f",
        usage=UsageTotals(prompt_tokens=1),
    ),
    Resumed(attempt=1),
    TurnFinished(
        outcome=Outcome.FAILED,
        limit=Limit.MAX_TOKENS,
        truncated=True,
        error=TurnError(kind=ErrorKind.UPSTREAM_HTTP, message="m", status=500),
        content="c",
        steps=2,
        usage=UsageTotals(prompt_tokens=1),
        totals=SessionTotals(next_call=2, data_class=DataClass.INTERNAL, untrusted_seen=True),
    ),
)


def entry(record: Record) -> Entry:
    return Entry(session=SESSION, turn=TURN, seq=3, time=MOMENT, record=record)


def members_of(record: Record) -> JsonObject:
    return json.loads(encode_record(entry(record)))


@pytest.mark.rules("S6")
@pytest.mark.parametrize("record", FULL, ids=lambda record: record.type)
def test_every_record_comes_back_as_it_was_and_as_the_same_bytes(record: Record) -> None:
    body = encode_record(entry(record))
    assert decode_record(body) == entry(record)
    assert encode_record(decode_record(body)) == body


def test_every_kind_of_record_is_among_those_tested() -> None:
    assert {type(record) for record in FULL} == set(get_args(Record))
    for record in FULL:
        assert all(getattr(record, field.name) != field.default for field in fields(record) if field.name != "v")


@pytest.mark.rules("S3")
def test_a_body_is_compact_sorted_utf_8_with_its_envelope_and_without_pos() -> None:
    body = encode_record(entry(User(content="grüß\u2028dich", options=TurnOptions())))
    members = json.loads(body)
    assert body == json.dumps(members, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    assert "grüß\u2028dich".encode() in body
    assert {"type": "user", "session": "ses_1", "turn": "trn_1", "seq": 3}.items() <= members.items()
    assert members["time"] == "2030-01-02T03:04:05.678901Z"
    assert "pos" not in members


def test_optional_members_are_left_out_while_they_say_nothing() -> None:
    plain = Assistant(step=1, content="c", reasoning="", finish_reason="stop")
    assert "cut_calls" not in members_of(plain)
    result = ToolResult(call=1, tool_call_id="i", name="t", status=ResultStatus.OK, content="x")
    assert "fence" not in members_of(result)
    assert members_of(result)["class"] == "public"
    end = TurnFinished(outcome=Outcome.ANSWERED, steps=1, usage=UsageTotals(), totals=SessionTotals())
    assert {"limit", "error"}.isdisjoint(members_of(end))
    assert members_of(end)["content"] is None


@pytest.mark.rules("S6")
def test_members_of_a_later_version_are_passed_over() -> None:
    members = members_of(Resumed(attempt=1)) | {"new_in_v2": [1]}
    assert decode_record(json.dumps(members).encode()).record == Resumed(attempt=1)


@pytest.mark.parametrize(
    "change",
    [
        {"type": "unknown"},
        {"attempt": "1"},
        {"attempt": True},
        {"attempt": None},
        {"time": "yesterday"},
        {"kind": "unknown"},
    ],
)
def test_a_body_that_is_no_record_is_refused(change: JsonObject) -> None:
    members = members_of(Attempt(step=1, attempt=2, kind=ErrorKind.STALLED)) | change
    with pytest.raises(UnreadableRecord):
        decode_record(json.dumps(members).encode())


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"type":"resumed"}', b"\xff"])
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(UnreadableRecord):
        decode_record(body)


def test_a_body_without_a_member_that_it_needs_is_refused() -> None:
    members = members_of(Resumed(attempt=1))
    del members["attempt"]
    with pytest.raises(UnreadableRecord, match="attempt"):
        decode_record(json.dumps(members).encode())


@pytest.mark.rules("H6")
def test_a_stored_record_is_shown_as_its_own_bytes_with_pos_added() -> None:
    body = encode_record(entry(Resumed(attempt=1)))
    stored = StoredRecord(session=SESSION, turn=TURN, type="resumed", seq=3, pos=42, body=body, hash=b"")
    shown = encode_stored(stored)
    assert shown.startswith(body[:-1])
    assert json.loads(shown) == json.loads(body) | {"pos": 42}


@pytest.mark.parametrize(
    ("signal", "members"),
    [
        (ContentDelta(step=1, text="é", offset=3), {"type": "content", "step": 1, "text": "é", "offset": 3}),
        (Queued(position=2), {"type": "queued", "position": 2}),
        (ShuttingDown(), {"type": "shutting_down"}),
    ],
)
def test_a_signal_names_its_session_and_turn(signal: Signal, members: JsonObject) -> None:
    assert json.loads(encode_signal(SESSION, TURN, signal)) == {"session": SESSION, "turn": TURN} | members


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_come_back_exactly(moment: datetime) -> None:
    assert parse_time(format_time(moment)) == moment


def test_times_are_written_in_utc() -> None:
    there = timezone(timedelta(hours=2))
    assert format_time(datetime(2030, 1, 1, 12, tzinfo=there)) == "2030-01-01T10:00:00.000000Z"
