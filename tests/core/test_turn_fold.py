"""The table of states and inputs: every cell, the legal ones and the illegal ones (section 2, T1 to T6)."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from service.core.baseline import Baseline, Limits
from service.core.errors import ErrorKind, IllegalTransition
from service.core.ids import SessionId, TurnId
from service.core.labels import DataClass
from service.core.records import (
    ApprovalDecided,
    ApprovalRequested,
    Assistant,
    Attempt,
    CacheLoss,
    CacheLossReason,
    ChildLink,
    Entry,
    HandoffReturned,
    HandoffStarted,
    Limit,
    OnToolLimit,
    Outcome,
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
    TurnFinished,
    TurnOptions,
    TurnQueued,
    User,
)
from service.core.turn_fold import advance, apply, fold
from service.core.turn_state import CallState, Phase, QueuedTurn, TurnState
from service.core.turn_table import TRANSITIONS, Input, classify
from service.core.usage import UsageTotals

TURN, WAITING = TurnId("trn_1"), TurnId("trn_2")


def a_call(number: int) -> ToolCall:
    return ToolCall(call=number, tool_call_id=f"id{number}", model_call_id=None, name="weather", arguments="{}")


def a_result(number: int, **other: object) -> ToolResult:
    fields = {
        "call": number,
        "tool_call_id": f"id{number}",
        "name": "weather",
        "status": ResultStatus.OK,
        "content": "x",
    }
    return ToolResult(**{**fields, **other})  # pyright: ignore[reportArgumentType]


def usage(**other: object) -> StepUsage:
    fields = {"step": 1, "prompt_tokens": 10, "cached_tokens": 4, "completion_tokens": 5, "reasoning_tokens": 2}
    return StepUsage(**{**fields, **other})  # pyright: ignore[reportArgumentType]


CHILD = ChildLink(session=SessionId("ses_2"), turn=TurnId("trn_9"))
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def asked(number: int) -> PendingCall:
    return PendingCall(
        session=SessionId("ses_1"),
        turn=TURN,
        call=number,
        tool_call_id=f"id{number}",
        name="weather",
        title="Weather",
        arguments="{}",
        digest="sha256:ab",
        reason="It asks.",
        asked_at=NOON,
    )


def decided(number: int) -> ApprovalDecided:
    return ApprovalDecided(call=number, approved=True, digest="sha256:ab", by="ann")


FINISHED = TurnFinished(
    outcome=Outcome.ANSWERED, steps=1, usage=UsageTotals(), totals=SessionTotals(next_call=7, untrusted_seen=True)
)

RECORDS: dict[Input, Record] = {
    Input.CREATED: SessionCreated(agent=None, baseline=Baseline()),
    Input.QUEUED: TurnQueued(content="Later", options=TurnOptions()),
    Input.QUEUED_ENDED: FINISHED,
    Input.USER: User(content="Hello", options=TurnOptions()),
    Input.ANSWER: Assistant(step=1, content="Hi", reasoning="", finish_reason="stop"),
    Input.CALLS: Assistant(step=1, content="", reasoning="", tool_calls=(a_call(1),), finish_reason="tool_calls"),
    Input.USAGE: usage(),
    Input.CACHE_LOSS: CacheLoss(
        step=1, expected_tokens=90, cached_tokens=0, lost_tokens=90, reason=CacheLossReason.UNKNOWN
    ),
    Input.ATTEMPT: Attempt(step=1, attempt=1, kind=ErrorKind.EMPTY_ANSWER),
    Input.CALL_STARTED: ToolCallStarted(call=1, tool_call_id="id1", name="weather", arguments="{}"),
    Input.SUMMARY_USAGE: usage(discarded=True, summary=True),
    Input.SUMMARY: Summary(covers=3, text="They said hello.", tokens_before=90, tokens_after=30),
    Input.APPROVAL_REQUESTED: ApprovalRequested(calls=(asked(1),)),
    Input.DECISION: decided(1),
    Input.LAST_DECISION: decided(1),
    Input.HANDOFF_STARTED: HandoffStarted(call=1, agent="expert", child=CHILD),
    Input.HANDOFF_RETURNED: HandoffReturned(call=1, child=CHILD, outcome=Outcome.ANSWERED, content="x", waited_s=7.5),
    Input.RESULT_ENDS_WAIT: a_result(1, status=ResultStatus.DENIED),
    Input.RESULT: a_result(1),
    Input.LAST_RESULT: a_result(1),
    Input.LAST_RESULT_OVER_LIMIT: a_result(1, status=ResultStatus.NOT_RUN, limit=Limit.REPEATED_CALL),
    Input.RESUMED: Resumed(attempt=1),
    Input.FINISHED: FINISHED,
}

BOTH_WAIT = tuple(CallState(call=a_call(number), asked=asked(number)) for number in (1, 2))

OPEN = {
    Input.RESULT: (CallState(call=a_call(1)), CallState(call=a_call(2))),
    Input.RESULT_ENDS_WAIT: (CallState(call=a_call(1), asked=asked(1)), CallState(call=a_call(2))),
    Input.DECISION: BOTH_WAIT,
    Input.LAST_DECISION: BOTH_WAIT[:1],
}


def state_for(phase: Phase, given: Input) -> TurnState:
    """A state of this phase in which the record of `given` means just that."""
    return TurnState(
        phase=phase,
        turn=None if phase is Phase.IDLE else TURN,
        queued=(QueuedTurn(turn=WAITING, content="Later", options=TurnOptions()),),
        batches=1,
        batch=OPEN.get(given, (CallState(call=a_call(1)),)),
    )


@pytest.mark.rules("T1", "T4", "T5", "T6")
@pytest.mark.parametrize(("phase", "given"), list(itertools.product(Phase, Input)))
def test_each_cell_of_the_table_leads_where_it_says_or_is_refused(phase: Phase, given: Input) -> None:
    state, record = state_for(phase, given), RECORDS[given]
    turn = TURN
    if given in (Input.QUEUED, Input.QUEUED_ENDED):
        turn = WAITING if given is Input.QUEUED_ENDED else TurnId("trn_3")
    assert classify(state, record, turn) is given
    if (phase, given) in TRANSITIONS:
        assert advance(state, record, turn).phase is TRANSITIONS[phase, given]
    else:
        with pytest.raises(IllegalTransition):
            advance(state, record, turn)


def test_every_phase_can_be_left_and_every_input_is_taken_somewhere() -> None:
    assert {phase for phase, _ in TRANSITIONS} == set(Phase)
    assert {given for _, given in TRANSITIONS} == set(Input)


@pytest.mark.parametrize("record", [RECORDS[Input.CALL_STARTED], a_result(9)])
def test_a_record_of_a_call_that_is_not_open_is_refused(record: Record) -> None:
    closed = CallState(call=a_call(1), result=a_result(1))
    state = TurnState(phase=Phase.CALLING, turn=TURN, batches=1, batch=(closed, CallState(call=a_call(2))))
    with pytest.raises(IllegalTransition):
        advance(state, record)


def entry(record: Record, turn: TurnId | None = TURN, seq: int = 1, at_s: float = 0) -> Entry:
    time = datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=at_s)
    return Entry(session=SessionId("ses_1"), turn=turn, seq=seq, time=time, record=record)


def test_a_record_of_another_turn_is_refused() -> None:
    state = fold([entry(RECORDS[Input.USER])])
    with pytest.raises(IllegalTransition):
        apply(state, entry(RECORDS[Input.ANSWER], TurnId("trn_2")))


def test_a_fold_may_begin_at_the_end_of_the_turn_before() -> None:
    state = fold([entry(FINISHED)], used_tokens=99)
    assert (state.phase, state.totals.next_call, state.totals.untrusted_seen, state.used_tokens) == (
        Phase.IDLE,
        7,
        True,
        99,
    )


def test_a_new_turn_keeps_the_sums_of_the_session_and_begins_its_own() -> None:
    state = fold([entry(FINISHED), entry(RECORDS[Input.USER]), entry(RECORDS[Input.CALLS])])
    assert (state.turn, state.step, state.usage.tool_calls, state.totals.next_call) == (TURN, 1, 1, 8)


@pytest.mark.rules("T14")
def test_discarded_usage_counts_in_the_sums_but_fills_no_context() -> None:
    calls = RECORDS[Input.CALLS]
    told = [RECORDS[Input.USER], usage(discarded=True, prompt_tokens=90), calls, usage()]
    after_first, state = fold(map(entry, told[:2])), fold(map(entry, told))
    assert (after_first.used_tokens, after_first.failed_while_thinking) == (0, True)
    assert (state.used_tokens, state.usage.prompt_tokens, state.usage.completions) == (15, 100, 2)
    assert state.totals.usage == state.usage


@pytest.mark.rules("P5", "P7")
def test_an_answer_that_is_not_in_the_prompt_fills_no_context() -> None:
    cut = Assistant(step=1, content=" ", reasoning="Hm.", finish_reason="length")
    assert fold(map(entry, [RECORDS[Input.USER], cut, usage()])).used_tokens == 0


@pytest.mark.rules("P5")
def test_the_prompt_of_a_turns_first_step_is_kept_until_the_next_turn_has_one() -> None:
    calls = RECORDS[Input.CALLS]
    answer = Assistant(step=2, content="Hi", reasoning="", finish_reason="stop")
    turn = [RECORDS[Input.USER], calls, usage(), a_result(1), answer, usage(step=2, prompt_tokens=40), FINISHED]
    state = fold(map(entry, [*turn, RECORDS[Input.USER]]))
    assert (state.first_prompt_tokens, state.used_tokens) == (10, 45)


@pytest.mark.rules("T5", "T7")
def test_a_turn_that_concludes_is_asked_once_more_after_a_batch_that_a_limit_stopped() -> None:
    user = User(content="Hello", options=TurnOptions(on_tool_limit=OnToolLimit.CONCLUDE))
    stopped = a_result(1, status=ResultStatus.NOT_RUN, limit=Limit.REPEATED_CALL)
    state = fold(map(entry, [user, RECORDS[Input.CALLS], stopped]))
    assert (state.phase, state.stopped_by) == (Phase.ASKING, Limit.REPEATED_CALL)


@pytest.mark.rules("X6")
def test_labels_of_results_stay_with_the_session() -> None:
    calls = Assistant(step=1, content="", reasoning="", tool_calls=(a_call(1), a_call(2)), finish_reason="stop")
    state = fold(
        [
            entry(RECORDS[Input.USER]),
            entry(calls),
            entry(a_result(1, data_class=DataClass.SECRET)),
            entry(a_result(2, data_class=DataClass.INTERNAL, untrusted=True)),
        ]
    )
    assert (state.totals.data_class, state.totals.untrusted_seen) == (DataClass.SECRET, True)


@pytest.mark.rules("S4")
def test_any_record_but_a_restart_counts_as_progress() -> None:
    begun = fold([entry(RECORDS[Input.USER]), entry(Resumed(attempt=2))])
    assert begun.resumed == 2
    for record in (RECORDS[Input.USAGE], RECORDS[Input.ATTEMPT], RECORDS[Input.ANSWER], RECORDS[Input.CALLS]):
        assert advance(begun, record).resumed == 0


@pytest.mark.rules("L6")
def test_thinking_left_never_falls_below_zero() -> None:
    options = TurnOptions(limits=Limits(thinking_tokens=1))
    state = fold([entry(User(content="Hello", options=options)), entry(usage())])
    assert state.thinking_left == 0


def queued(turn: str, content: str) -> Entry:
    return entry(TurnQueued(content=content, options=TurnOptions()), TurnId(turn))


@pytest.mark.rules("H4")
def test_messages_wait_in_order_until_they_are_taken_up_or_taken_out() -> None:
    first = [entry(RECORDS[Input.USER]), queued("trn_2", "Two"), queued("trn_3", "Three"), queued("trn_4", "Four")]
    taken_out = entry(replace(FINISHED, outcome=Outcome.CANCELLED), TurnId("trn_3"))
    state = fold([*first, taken_out])
    assert (state.phase, state.turn, state.waiting_turns) == (Phase.ASKING, TURN, ("trn_2", "trn_4"))

    answered = [entry(RECORDS[Input.ANSWER]), entry(FINISHED)]
    taken_up = entry(User(content="Two", options=TurnOptions()), TurnId("trn_2"))
    state = fold([*first, taken_out, *answered, taken_up])
    assert (state.phase, state.turn, state.waiting_turns) == (Phase.ASKING, "trn_2", ("trn_4",))
    assert [waiting.content for waiting in state.queued] == ["Four"]


@pytest.mark.rules("H4")
def test_what_waits_changes_nothing_of_the_turn_that_runs() -> None:
    running = [entry(RECORDS[Input.USER]), entry(RECORDS[Input.CALLS])]
    before = fold(running)
    after = fold([*running, queued("trn_2", "Two"), entry(FINISHED, TurnId("trn_2"))])
    assert after == before


@pytest.mark.rules("A2")
@pytest.mark.parametrize("phase", [Phase.CALLING, Phase.AWAITING_APPROVAL])
def test_a_decision_on_a_call_that_waits_for_none_is_refused(phase: Phase) -> None:
    state = TurnState(phase=phase, turn=TURN, batches=1, batch=(CallState(call=a_call(1)), BOTH_WAIT[1]))
    with pytest.raises(IllegalTransition):
        advance(state, decided(1))


@pytest.mark.rules("T12")
def test_waits_for_people_add_up_over_a_turn_and_begin_anew_with_the_next() -> None:
    calls = Assistant(step=1, content="", reasoning="", tool_calls=(a_call(1), a_call(2)), finish_reason="tool_calls")
    waits = ApprovalRequested(calls=(asked(1), asked(2)))
    first = [
        entry(RECORDS[Input.USER]),
        entry(calls),
        entry(waits, at_s=1),
        entry(decided(1), at_s=11),
    ]
    between = fold(first)
    state = fold([*first, entry(decided(2), at_s=21)])
    child = fold([*first, entry(decided(2), at_s=21), entry(RECORDS[Input.HANDOFF_RETURNED])])

    assert (between.paused_s, between.paused_at) == (0, datetime(2030, 1, 1, 0, 0, 1, tzinfo=UTC))
    assert (state.phase, state.paused_s, state.paused_at) == (Phase.CALLING, 20, None)
    assert [call.decided_at for call in state.batch] == [
        datetime(2030, 1, 1, 0, 0, second, tzinfo=UTC) for second in (11, 21)
    ]
    assert child.paused_s == 27.5
    ended = advance(fold([entry(RECORDS[Input.USER])]), FINISHED)
    assert ended.paused_s == 0


@pytest.mark.rules("A1b")
def test_a_call_that_the_port_asks_about_is_in_flight_no_longer() -> None:
    state = fold(map(entry, [RECORDS[Input.USER], RECORDS[Input.CALLS], RECORDS[Input.CALL_STARTED]]))
    waits = advance(state, RECORDS[Input.APPROVAL_REQUESTED])

    (before,), (call,) = state.batch, waits.batch
    assert (before.started, call.started, call.asked_by_port, call.is_pending) == (True, False, True, True)


@pytest.mark.rules("A7")
def test_what_a_batch_reads_is_not_untrusted_text_that_it_was_asked_with() -> None:
    first = [RECORDS[Input.USER], RECORDS[Input.CALLS]]
    second = Assistant(step=2, content="", reasoning="", tool_calls=(a_call(2),), finish_reason="tool_calls")
    during = fold(map(entry, [*first, a_result(1, untrusted=True)]))
    after = advance(during, second)

    assert (during.untrusted_before, after.untrusted_before) == (False, True)


@pytest.mark.rules("X6", "G2")
def test_a_child_begins_with_the_labels_and_one_deeper_than_its_parent() -> None:
    created = SessionCreated(agent=None, baseline=Baseline(), data_class=DataClass.SECRET, untrusted=True, depth=2)
    state = fold([entry(created, None), entry(RECORDS[Input.USER])])
    ended = fold([entry(created, None), entry(RECORDS[Input.USER]), entry(FINISHED), entry(RECORDS[Input.USER])])

    assert (state.totals.data_class, state.totals.untrusted_seen, state.depth) == (DataClass.SECRET, True, 2)
    assert ended.depth == 2


@pytest.mark.rules("C1", "P5", "T14")
def test_a_summary_counts_its_cost_and_is_the_size_of_the_next_prompt() -> None:
    spent = UsageTotals(prompt_tokens=80, completion_tokens=20, completions=1)
    summary = Summary(covers=3, text="Hello.", tokens_before=90, tokens_after=30, usage=spent)
    turn = [RECORDS[Input.USER], RECORDS[Input.CALLS], usage(prompt_tokens=85), a_result(1)]
    state = fold(map(entry, [*turn, summary]))
    again = fold(map(entry, [*turn, summary, replace(summary, tokens_after=20)]))
    asked_since = fold(map(entry, [*turn, summary, RECORDS[Input.CALLS], usage(step=2, prompt_tokens=33)]))

    assert (state.used_tokens, state.compacted_from, state.summaries) == (30, 90, 1)
    assert (again.used_tokens, again.compacted_from, again.summaries) == (20, 90, 2)
    assert (asked_since.used_tokens, asked_since.compacted_from) == (38, 0)
    assert (state.usage.completions, state.totals.usage.prompt_tokens) == (2, 165)


@pytest.mark.rules("C1")
def test_a_summary_in_vain_costs_and_is_counted_and_changes_nothing_else() -> None:
    turn = [RECORDS[Input.USER], RECORDS[Input.CALLS], usage(), a_result(1)]
    before, after = fold(map(entry, turn)), fold(map(entry, [*turn, RECORDS[Input.SUMMARY_USAGE]]))

    assert (after.fruitless_summaries, after.usage.completions) == (1, 2)
    assert (after.used_tokens, after.failed_while_thinking) == (before.used_tokens, before.failed_while_thinking)
