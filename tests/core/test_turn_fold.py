"""The table of states and inputs: every cell, the legal ones and the illegal ones (section 2, T1 to T6)."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from service.core.baseline import Baseline, Limits
from service.core.errors import ErrorKind, IllegalTransition
from service.core.ids import SessionId, TurnId
from service.core.labels import DataClass
from service.core.records import (
    Assistant,
    Attempt,
    CacheLoss,
    CacheLossReason,
    Entry,
    Limit,
    OnToolLimit,
    Outcome,
    Record,
    ResultStatus,
    Resumed,
    SessionCreated,
    SessionTotals,
    StepUsage,
    ToolCall,
    ToolCallStarted,
    ToolResult,
    TurnFinished,
    TurnOptions,
    TurnQueued,
    User,
)
from service.core.turn_fold import TRANSITIONS, Input, advance, apply, classify, fold
from service.core.turn_state import CallState, Phase, QueuedTurn, TurnState
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
    Input.RESULT: a_result(1),
    Input.LAST_RESULT: a_result(1),
    Input.LAST_RESULT_OVER_LIMIT: a_result(1, status=ResultStatus.NOT_RUN, limit=Limit.REPEATED_CALL),
    Input.RESUMED: Resumed(attempt=1),
    Input.FINISHED: FINISHED,
}

OPEN = {
    Input.RESULT: (CallState(call=a_call(1)), CallState(call=a_call(2))),
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


def entry(record: Record, turn: TurnId | None = TURN, seq: int = 1) -> Entry:
    return Entry(session=SessionId("ses_1"), turn=turn, seq=seq, time=datetime(2030, 1, 1, tzinfo=UTC), record=record)


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
