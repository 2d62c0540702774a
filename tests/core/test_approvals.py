"""Which calls need a person's word, what is asked, and what decisions make of a batch (A1, A2, A3, A7, G2)."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from service.core.approvals import asked_by_port, digest_of, pending_call, reason_to_ask, title_of
from service.core.baseline import ToolMode
from service.core.batch import ApprovalNeeded, Disposition, HandOver, ReadOn, Run, plan_batch
from service.core.handoff import ChildEnd, first_message, outcome_of_child
from service.core.ids import SessionId, TurnId
from service.core.labels import DataClass
from service.core.local_tools import local_tools
from service.core.records import (
    ApprovalDecided,
    ChildLink,
    HandoffReturned,
    Limit,
    Outcome,
    PendingCall,
    ResultStatus,
    ToolCall,
)
from service.core.result_text import CallOutcome
from service.core.tool_port import ToolSpec
from service.core.toolset import Toolset
from service.core.turn import AwaitDecision, RequestApproval, RunBatch, next_effect
from service.core.turn_state import CallState, Phase, TurnState

SESSION, TURN = SessionId("ses_1"), TurnId("trn_1")
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
NUMBER = {"type": "object", "properties": {"n": {"type": "number"}}, "additionalProperties": False}
PLAIN = ToolSpec(name="t", description="A tool.", parameters=NUMBER)
ASKS = replace(PLAIN, name="asks", needs_approval=True)
OUTSIDE = replace(PLAIN, name="send_mail", acts_outside=True)
SECRET = replace(PLAIN, name="secret", data_class=DataClass.SECRET)
AGENTS = {"desk": "Answers first.", "expert": ""}
TOOLS = Toolset((PLAIN, ASKS, OUTSIDE, SECRET, *local_tools(ToolMode.DIRECT, AGENTS)))
CHILD = ChildLink(session=SessionId("ses_2"), turn=TurnId("trn_2"))


def called(number: int, name: str, arguments: str = "{}", **other: object) -> CallState:
    call = ToolCall(call=number, tool_call_id=f"id{number}", model_call_id=None, name=name, arguments=arguments)
    return CallState(call=call, **other)  # pyright: ignore[reportArgumentType]


def state(*batch: CallState, phase: Phase = Phase.CALLING, **other: object) -> TurnState:
    return TurnState(phase=phase, turn=TURN, batches=1, batch=batch, **other)  # pyright: ignore[reportArgumentType]


def plan(turn: TurnState, tools: Toolset = TOOLS) -> list[Disposition]:
    return [planned.disposition for planned in plan_batch(turn, tools)]


def decided(approved: bool, arguments: str | None = None) -> ApprovalDecided:
    return ApprovalDecided(call=1, approved=approved, digest="sha256:ab", arguments=arguments, by="ann")


def asked(call: CallState, expires_at: datetime | None = None) -> CallState:
    pending = pending_call(
        SESSION, TURN, call.call.call, call.call.tool_call_id, ASKS, "{}", "It asks.", now=NOON, wait_s=0
    )
    return replace(call, asked=replace(pending, expires_at=expires_at))


@pytest.mark.rules("A1", "A7")
@pytest.mark.parametrize(
    ("spec", "untrusted", "begins"),
    [
        (PLAIN, False, None),
        (PLAIN, True, None),
        (ASKS, False, "This tool always asks"),
        (ASKS, True, "This tool always asks"),
        (OUTSIDE, False, None),
        (OUTSIDE, True, "This session holds text from outside"),
        (SECRET, False, None),
        (SECRET, True, "This session holds text from outside"),
    ],
)
def test_a_tool_asks_by_itself_or_once_there_is_untrusted_text(
    spec: ToolSpec, untrusted: bool, begins: str | None
) -> None:
    reason = reason_to_ask(spec, untrusted=untrusted)

    assert reason is None if begins is None else (reason or "").startswith(begins)


@pytest.mark.rules("A2")
def test_the_digest_is_that_of_the_call_as_compact_json() -> None:
    text = '["turnkeeper.call.v1","ses_1","trn_1",3,"id3","zahlen","{\\"für\\": 5}"]'

    digest = digest_of(SESSION, TURN, 3, "id3", "zahlen", '{"für": 5}')

    assert digest == "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.rules("A1")
@pytest.mark.parametrize(
    ("name", "title", "shown"),
    [("pay_bill", None, "Pay bill"), ("pay-bill", "Pay a bill", "Pay a bill"), ("__", None, "__"), ("x", None, "X")],
)
def test_a_tool_without_a_title_is_called_by_its_name_in_words(name: str, title: str | None, shown: str) -> None:
    assert title_of(replace(PLAIN, name=name, title=title)) == shown


@pytest.mark.rules("A6")
@pytest.mark.parametrize(("wait_s", "expires_at"), [(0, None), (60, NOON + timedelta(minutes=1))])
def test_what_is_asked_expires_after_the_wait_or_never(wait_s: int, expires_at: datetime | None) -> None:
    pending = pending_call(SESSION, TURN, 1, "id1", ASKS, "{}", "It asks.", now=NOON, wait_s=wait_s)

    assert pending == PendingCall(
        session=SESSION,
        turn=TURN,
        call=1,
        tool_call_id="id1",
        name="asks",
        title="Asks",
        arguments="{}",
        digest=digest_of(SESSION, TURN, 1, "id1", "asks", "{}"),
        reason="It asks.",
        asked_at=NOON,
        expires_at=expires_at,
    )


@pytest.mark.rules("A1b")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", "The tool port asks for an approval."),
        (" \n", "The tool port asks for an approval."),
        ("over 100", "The tool port asks for an approval: over 100"),
        ("x" * 501, f"The tool port asks for an approval: {'x' * 500}…"),
    ],
)
def test_the_ports_reason_is_told_in_its_own_words_up_to_a_length(words: str, told: str) -> None:
    assert asked_by_port(words) == told


@pytest.mark.rules("A1", "T6")
def test_a_batch_with_a_call_that_asks_is_asked_about_before_anything_runs() -> None:
    effect = next_effect(state(called(1, "t"), called(2, "asks", '{"n": 1}'), called(3, "nothing")), TOOLS)

    assert isinstance(effect, RequestApproval)
    (needed,) = effect.calls
    assert (needed.call.call, needed.spec, needed.arguments) == (2, ASKS, '{"n": 1}')


@pytest.mark.rules("A7")
@pytest.mark.parametrize(
    ("guarded", "untrusted", "asks"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_the_policy_holds_where_it_is_on_and_there_was_untrusted_text(
    guarded: bool, untrusted: bool, asks: bool
) -> None:
    tools = Toolset((PLAIN, OUTSIDE), guarded=guarded)

    (disposition,) = plan(state(called(1, "send_mail"), untrusted_before=untrusted), tools)

    assert isinstance(disposition, ApprovalNeeded) is asks


@pytest.mark.rules("A7", "S4")
def test_a_call_in_flight_was_let_through_before_and_is_not_asked_about() -> None:
    (disposition,) = plan(state(called(1, "send_mail", started=True), untrusted_before=True))

    assert isinstance(disposition, CallOutcome)
    assert disposition.status is ResultStatus.INTERRUPTED


@pytest.mark.rules("A2", "A3")
def test_a_decided_call_runs_or_is_denied_and_changed_arguments_are_what_runs() -> None:
    call = asked(called(1, "asks", '{"n": 1}'))
    (denied,) = plan(state(replace(call, decision=decided(False))))
    (plain,) = plan(state(replace(call, decision=decided(True), decided_at=NOON, asked_by_port=True)))
    (changed,) = plan(state(replace(call, decision=decided(True, '{"n": 2}'))))
    (unfit,) = plan(state(replace(call, decision=decided(True, '{"m": 2}'))))

    assert denied == CallOutcome(
        status=ResultStatus.DENIED, text='{"approved":false,"error":"denied by human approver"}'
    )
    assert plain == Run(
        spec=ASKS,
        arguments={"n": 1},
        raw='{"n": 1}',
        approval=decided(True),
        approved_at=NOON,
        asked_by_port=True,
    )
    assert isinstance(changed, Run)
    assert (changed.arguments, changed.raw) == ({"n": 2}, '{"n": 1}')
    assert isinstance(unfit, CallOutcome)
    assert unfit.status is ResultStatus.BAD_ARGUMENTS


@pytest.mark.rules("A6")
def test_the_machine_waits_for_decisions_until_the_first_of_them_expires() -> None:
    never, late, soon = (
        asked(called(number, "asks"), expires_at)
        for number, expires_at in enumerate((None, NOON + timedelta(hours=1), NOON), start=1)
    )
    decided_one = replace(soon, decision=decided(True))

    def until(*batch: CallState) -> datetime | None:
        effect = next_effect(state(*batch, phase=Phase.AWAITING_APPROVAL), TOOLS)
        assert isinstance(effect, AwaitDecision)
        return effect.until

    assert until(never) is None
    assert until(never, late, soon) == NOON
    assert until(never, late, decided_one) == NOON + timedelta(hours=1)


@pytest.mark.rules("G2", "T6")
def test_the_first_handoff_of_a_batch_counts_and_whatever_else_would_run_does_not() -> None:
    batch = state(
        called(1, "t", "{"),
        called(2, "t"),
        called(3, "read_result", '{"call": 1, "offset": 0}'),
        called(4, "handoff_to", '{"agent": "expert", "message": "Go", "carry": 2.0}'),
        called(5, "handoff_to", '{"agent": "desk", "message": "Go"}'),
        called(6, "asks"),
    )

    effect = next_effect(batch, TOOLS)

    assert isinstance(effect, RunBatch)
    bad, plain, read, first, second, asks = [planned.disposition for planned in effect.calls]
    instead = CallOutcome(
        status=ResultStatus.NOT_RUN, text="The call was not run: this step was handed over to expert."
    )
    assert isinstance(bad, CallOutcome)
    assert bad.status is ResultStatus.BAD_ARGUMENTS
    assert [plain, read, second, asks] == [instead] * 4
    assert first == HandOver(agent="expert", message="Go", carry=2, child=None)


@pytest.mark.rules("G2")
@pytest.mark.parametrize("arguments", ['{"agent": "nobody", "message": "Go"}', '{"agent": "desk"}', "{}"])
def test_a_handoff_that_is_no_handoff_lets_the_rest_of_the_batch_run(arguments: str) -> None:
    wrong, ran = plan(state(called(1, "handoff_to", arguments), called(2, "t")))

    assert isinstance(wrong, CallOutcome)
    assert wrong.status is ResultStatus.BAD_ARGUMENTS
    assert isinstance(ran, Run)


@pytest.mark.rules("G2", "S4")
@pytest.mark.parametrize(("depth", "goes"), [(2, True), (3, False)])
def test_a_handoff_goes_on_with_the_child_it_named_and_no_deeper_than_three(depth: int, goes: bool) -> None:
    call = called(1, "handoff_to", '{"agent": "desk", "message": "Go"}', child=CHILD, started=True)

    (disposition,) = plan(state(call, depth=depth))

    if goes:
        assert disposition == HandOver(agent="desk", message="Go", carry=0, child=CHILD)
    else:
        assert isinstance(disposition, CallOutcome)
        assert disposition.status is ResultStatus.FAILED


@pytest.mark.rules("T9")
def test_reading_on_is_no_tool_of_the_port() -> None:
    assert plan(state(called(1, "read_result", '{"call": 1, "offset": 0}'))) == [ReadOn(call=1, offset=0)]


def end(outcome: Outcome | None, content: str | None = None, **other: object) -> ChildEnd:
    record = HandoffReturned(call=1, child=CHILD, outcome=outcome, content=content)
    return ChildEnd(record=record, **other)  # pyright: ignore[reportArgumentType]


@pytest.mark.rules("G2", "X6")
def test_a_childs_answer_has_the_childs_labels() -> None:
    outcome = outcome_of_child(end(Outcome.ANSWERED, "Tea.", data_class=DataClass.SECRET, untrusted=True))

    assert outcome == CallOutcome(status=ResultStatus.OK, text="Tea.", data_class=DataClass.SECRET, untrusted=True)


@pytest.mark.rules("G2")
@pytest.mark.parametrize(
    ("child", "why"),
    [
        (end(None), "its session was deleted"),
        (end(Outcome.CANCELLED), "it was cancelled"),
        (end(Outcome.SESSION_FULL), "its context was full"),
        (end(Outcome.FAILED), "it failed"),
        (end(Outcome.FAILED, why="the port is away"), "the port is away"),
        (end(Outcome.TURN_LIMIT, "Half", limit=Limit.TURN_TIME), "it reached a limit (turn_time)"),
        (end(Outcome.TURN_LIMIT), "it had nothing to say"),
        (end(Outcome.ANSWERED), "it had nothing to say"),
    ],
)
def test_a_child_without_an_answer_says_why(child: ChildEnd, why: str) -> None:
    outcome = outcome_of_child(child)

    assert (outcome.status, outcome.text) == (ResultStatus.FAILED, f"The agent ended without an answer: {why}.")
    assert (outcome.data_class, outcome.untrusted) == (DataClass.PUBLIC, False)


@pytest.mark.rules("G2")
def test_carried_messages_stand_below_what_is_to_be_done_as_text() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"n": 1}'}}
    messages = (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "shut"},
    )

    assert first_message("Go", messages, 0) == "Go"
    assert first_message("Go", messages[:1], 5) == "Go"
    assert first_message("Go", messages, 10) == (
        "Go\n\nFor context, the last messages of the conversation so far:\n\nThe user:\nHello\n\n"
        'The assistant:\nLet me look.\n[called look({"n": 1})]\n\nA tool (look):\nshut'
    )
    assert first_message("Go", messages, 1).endswith("so far:\n\nA tool (look):\nshut")
