"""A2, A5: a log tells whether what ran is what was asked, and whether who decided had signed it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from service.core.approval_trail import NO_SIGNATURES_WANTED, SignaturesWanted
from service.core.chain import Head
from service.core.decision_signature import ApproverKeys
from service.core.errors import ErrorKind
from service.core.ids import SessionId, TurnId
from service.core.records import (
    DecisionSignature,
    ForkLink,
    Outcome,
    PendingCall,
    Record,
    ResultStatus,
    SessionTotals,
    ToolResult,
    TurnError,
    TurnFinished,
)
from service.core.usage import UsageTotals
from service.core.verification import Fault, FaultKind, verify_log
from tests.core.approved_logs import (
    ALICE,
    BOB,
    CREATED,
    KEYS,
    TURN,
    asked,
    decided,
    log_of,
    pending,
    sent,
)
from tests.core.written_logs import OTHER, TIME, Log, hashed

pytestmark = pytest.mark.rules("A2", "A5", "S3")

CHANGED = '{"to": "me@example.org"}'
ONE, TWO = pending(1), pending(2)
SECOND_TURN = TurnId("trn_2")
WANTED = SignaturesWanted(keys=KEYS)


def found(log: Log, signatures: SignaturesWanted = NO_SIGNATURES_WANTED) -> Fault | None:
    return verify_log(log.session, log.head, log.records, specs=lambda _: None, signatures=signatures).fault


def said(*records: Record, signatures: SignaturesWanted = NO_SIGNATURES_WANTED) -> tuple[int, str] | None:
    """Give the place of the first fault of approvals and what is said of it."""
    fault = found(log_of(*records), signatures)
    if fault is None:
        return None
    assert fault.kind is FaultKind.APPROVAL
    return fault.seq, fault.what


def with_members(log: Log, seq: int, members: Mapping[str, object]) -> Log:
    """Write a record's body anew, with other members, and hash the log anew, as somebody does who forges it."""
    records = list(log.records)
    body = json.loads(records[seq - 1].body) | members
    records[seq - 1] = replace(records[seq - 1], body=json.dumps(body).encode())
    anew = hashed(records)
    return Log(session=log.session, head=Head(seq=len(anew), hash=anew[-1].hash), records=anew)


def result(call: int, status: ResultStatus = ResultStatus.OK) -> ToolResult:
    return ToolResult(call=call, tool_call_id=f"c{call}", name="send_mail", status=status, content="")


def finished() -> TurnFinished:
    error = TurnError(kind=ErrorKind.INTERNAL, message="")
    return TurnFinished(
        outcome=Outcome.FAILED, error=error, content=None, steps=1, usage=UsageTotals(), totals=SessionTotals()
    )


def test_calls_that_were_asked_about_decided_on_and_run_as_decided_are_right() -> None:
    log = log_of(
        asked(ONE, TWO, pending(3)),
        decided(TWO, approved=False),
        decided(ONE),
        decided(pending(3), arguments=CHANGED),
        sent(1),
        sent(3, CHANGED),
        sent(4, "{}", "look"),
        result(1),
        result(2, ResultStatus.DENIED),
        finished(),
    )

    assert found(log) is None
    assert found(log, WANTED) is None


def test_a_call_whose_port_asked_is_sent_before_and_after_the_decision() -> None:
    assert said(sent(1), asked(ONE), decided(ONE), sent(1), sent(1), result(1)) is None


def test_a_call_that_nobody_decided_on_may_end_without_having_been_sent() -> None:
    assert said(asked(ONE), result(1, ResultStatus.CANCELLED), finished()) is None


def test_a_question_whose_digest_is_of_another_call_is_found() -> None:
    forged = replace(ONE, arguments=CHANGED)

    assert said(asked(TWO, forged)) == (2, "the digest of call 1 is not that of the call that is shown")


@pytest.mark.parametrize("foreign", [pending(1, session=OTHER), pending(1, turn=SECOND_TURN)], ids=["session", "turn"])
def test_a_question_that_was_moved_here_from_elsewhere_is_found(foreign: PendingCall) -> None:
    assert said(asked(foreign)) == (
        2,
        "the question about call 1 is one of another session or turn",
    )


@pytest.mark.rules("H10")
def test_the_questions_of_a_fork_name_the_session_that_it_was_taken_from() -> None:
    created = replace(CREATED, fork=ForkLink(session=OTHER, seq=9, hash="0" * 64))
    source = pending(1, session=OTHER)

    assert said(created, asked(source), decided(source), sent(1), signatures=WANTED) is None


def test_a_second_question_about_a_call_is_found() -> None:
    assert said(asked(ONE), asked(ONE)) == (3, "call 1 was asked about before")


@pytest.mark.parametrize(
    ("records", "seq", "what"),
    [
        ((decided(ONE),), 2, "a decision on call 1, which nobody was asked about"),
        ((asked(TWO), decided(ONE)), 3, "a decision on call 1, which nobody was asked about"),
        ((asked(ONE), decided(ONE), decided(ONE)), 4, "a second decision on call 1"),
        ((asked(ONE), decided(ONE, approved=False), decided(ONE)), 4, "a second decision on call 1"),
        (
            (asked(ONE), replace(decided(ONE), digest=TWO.digest)),
            3,
            "the decision on call 1 is one on another call: its digest is not that of the question",
        ),
    ],
)
def test_a_decision_that_fits_no_question_is_found(records: tuple[Record, ...], seq: int, what: str) -> None:
    assert said(*records) == (seq, what)


@pytest.mark.parametrize(
    ("records", "what"),
    [
        ((asked(ONE), sent(1)), "call 1 was sent though nobody had decided"),
        ((asked(ONE), result(1), sent(1)), "call 1 was sent though nobody had decided"),
        ((asked(ONE), decided(ONE, approved=False), sent(1)), "call 1 was sent though it was denied"),
        (
            (asked(ONE), decided(ONE), sent(1, CHANGED)),
            "call 1 was sent otherwise than it was approved: another tool or other arguments",
        ),
        (
            (asked(ONE), decided(ONE, arguments=CHANGED), sent(1)),
            "call 1 was sent otherwise than it was approved: another tool or other arguments",
        ),
        (
            (asked(ONE), decided(ONE), sent(1, name="send_money")),
            "call 1 was sent otherwise than it was approved: another tool or other arguments",
        ),
    ],
)
def test_a_call_that_ran_otherwise_than_it_was_decided_is_found(records: tuple[Record, ...], what: str) -> None:
    assert said(*records) == (len(records) + 1, what)


def test_only_the_end_of_its_own_turn_ends_the_questions_about_a_call() -> None:
    waiting = log_of(asked(ONE), finished(), sent(1), turns=[TURN, SECOND_TURN, TURN])

    assert found(waiting) == Fault(seq=4, kind=FaultKind.APPROVAL, what="call 1 was sent though nobody had decided")
    assert said(asked(ONE), finished(), asked(ONE)) is None


OF_ANOTHER_KIND: list[tuple[int, dict[str, object]]] = [
    (2, {"calls": None}),
    (2, {"calls": {}}),
    (2, {"calls": [None]}),
    (2, {"calls": [{}]}),
    (2, {"calls": [{"call": True}]}),
    (2, {"calls": [{"call": 1, "session": "\ud800", "turn": "trn_1"}]}),
    (3, {"call": "1"}),
    (3, {"digest": None}),
    (3, {"approved": "yes"}),
    (3, {"arguments": {}}),
    (3, {"arguments": "\ud800"}),
    (4, {"call": None}),
    (4, {"name": 5}),
    (4, {"arguments": {}}),
]


@pytest.mark.parametrize(("seq", "members"), OF_ANOTHER_KIND)
def test_members_of_another_kind_than_the_service_writes_are_found(seq: int, members: Mapping[str, object]) -> None:
    log = with_members(log_of(asked(ONE), decided(ONE), sent(1)), seq, members)

    assert found(log) == Fault(seq=seq, kind=FaultKind.APPROVAL, what="what it says of approvals can't be read")


@pytest.mark.parametrize(
    ("decision", "what"),
    [
        (
            decided(ONE, by=None),
            "it is not signed, and approver_keys is set, so that each decision needs a signature",
        ),
        (decided(ONE, by=BOB), 'its signature is not one of the key "alice" for this decision: another key signed'),
        (
            replace(decided(ONE, approved=False), approved=True),
            'its signature is not one of the key "alice" for this decision: another key signed',
        ),
        (
            replace(decided(ONE), arguments=CHANGED),
            'its signature is not one of the key "alice" for this decision: another key signed',
        ),
        (
            replace(decided(ONE), signature=DecisionSignature(key="carol", value="x")),
            'it is signed with the key "carol", which approver_keys lacks',
        ),
    ],
)
def test_with_keys_a_decision_that_is_not_signed_as_it_must_be_is_found(decision: Record, what: str) -> None:
    log = log_of(asked(ONE), decision)

    assert found(log) is None
    fault = found(log, WANTED)
    assert fault is not None
    assert (fault.seq, fault.kind) == (3, FaultKind.SIGNATURE)
    assert fault.what.startswith(f"the decision on call 1 does not hold: {what}")
    assert not fault.what.endswith(".")


def test_a_denial_needs_a_signature_too() -> None:
    fault = found(log_of(asked(ONE), decided(ONE, approved=False, by=None)), WANTED)

    assert fault is not None
    assert fault.kind is FaultKind.SIGNATURE


@pytest.mark.parametrize("late", [timedelta(0), timedelta(days=1), None])
def test_decisions_from_before_a_time_may_be_unsigned_and_later_ones_not(late: timedelta | None) -> None:
    log = log_of(asked(ONE), decided(ONE, by=None))
    before = TIME + timedelta(microseconds=1) if late is None else TIME - late

    fault = found(log, SignaturesWanted(keys=KEYS, unsigned_before=before))

    assert (fault is None) == (late is None)


def test_a_signature_is_checked_also_where_none_was_needed() -> None:
    wanted = SignaturesWanted(keys=KEYS, unsigned_before=TIME + timedelta(days=1))

    fault = found(log_of(asked(ONE), decided(ONE, by=BOB)), wanted)

    assert fault is not None
    assert fault.kind is FaultKind.SIGNATURE


@pytest.mark.parametrize("time", ["2029-01-01T00:00:00", "some day", 5, None])
def test_a_time_that_the_service_did_not_write_is_before_none(time: object) -> None:
    log = with_members(log_of(asked(ONE), decided(ONE, by=None)), 3, {"time": time})

    fault = found(log, SignaturesWanted(keys=KEYS, unsigned_before=datetime(2040, 1, 1, tzinfo=UTC)))

    assert fault is not None
    assert fault.kind is FaultKind.SIGNATURE


@pytest.mark.parametrize("signature", ["text", [], {"key": "alice"}, {"key": 1, "value": "x"}])
def test_a_signature_of_another_kind_than_the_service_writes_is_found(signature: object) -> None:
    log = with_members(log_of(asked(ONE), decided(ONE)), 3, {"signature": signature})

    assert found(log, WANTED) == Fault(
        seq=3, kind=FaultKind.SIGNATURE, what="what it says of a signature can't be read"
    )
    assert found(log, SignaturesWanted(keys=ApproverKeys())) is None


def test_a_signed_decision_holds_in_no_other_session_though_all_was_hashed_anew() -> None:
    """Whoever can write the store copies a question and its signed answer to a session of his own."""
    mine = SessionId("ses_mine")
    copied = log_of(asked(ONE), decided(ONE), sent(1), session=mine)
    again = pending(1, session=mine)
    retold = log_of(asked(again), replace(decided(again, by=ALICE), signature=decided(ONE).signature), session=mine)

    at_the_question, at_the_answer = found(copied, WANTED), found(retold, WANTED)

    assert at_the_question is not None
    assert (at_the_question.seq, at_the_question.kind) == (2, FaultKind.APPROVAL)
    assert at_the_answer is not None
    assert (at_the_answer.seq, at_the_answer.kind) == (3, FaultKind.SIGNATURE)
