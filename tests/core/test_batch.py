"""What becomes of each call of a batch: one disposition, the first that fits (T5, T6, T7, A4, S4, T9)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.core.baseline import Limits, ToolMode
from service.core.batch import Disposition, ReadOn, Run, close_call, next_cap, plan_batch
from service.core.labels import DataClass
from service.core.local_tools import local_tools
from service.core.past_calls import PastCalls, key_of, with_batch
from service.core.records import Limit, ResultStatus, ToolCall, ToolResult, TurnOptions
from service.core.result_text import CallOutcome
from service.core.tool_port import ToolSpec
from service.core.toolset import Toolset
from service.core.turn_state import CallState, Phase, TurnState

PARAMETERS = {"type": "object", "properties": {"n": {"type": "number"}}, "additionalProperties": False}


def tool(name: str) -> ToolSpec:
    return ToolSpec(name=name, description=f"The tool {name}.", parameters=PARAMETERS)


SPECS = (
    tool("t"),
    replace(tool("clock"), repeatable=True),
    replace(tool("delete"), needs_approval=True),
    replace(tool("put"), idempotent=True),
)
TOOLS = Toolset((*SPECS, *local_tools(ToolMode.DISCOVER)))


def asked(number: int, name: str = "t", arguments: str = "{}", *, started: bool = False) -> CallState:
    call = ToolCall(call=number, tool_call_id=f"id{number}", model_call_id=None, name=name, arguments=arguments)
    return CallState(call=call, started=started)


def ended(state: CallState, status: ResultStatus = ResultStatus.OK, text: str = "text") -> CallState:
    call = state.call
    result = ToolResult(call=call.call, tool_call_id=call.tool_call_id, name=call.name, status=status, content=text)
    return replace(state, result=result)


def past(*batches: list[CallState]) -> PastCalls:
    known: PastCalls = {}
    for batch in batches:
        known = with_batch(known, [(call.call, call.result) for call in batch if call.result is not None])
    return known


def state(*calls: CallState, before: PastCalls | None = None, **other: object) -> TurnState:
    limits = Limits(**{name: other.pop(name) for name in list(other) if name in Limits.__slots__})  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue]
    return TurnState(
        phase=Phase.CALLING,
        options=TurnOptions(limits=limits),
        batch=calls,
        past_calls=before or {},
        **{"batches": 1, **other},  # pyright: ignore[reportArgumentType]
    )


def plan(turn: TurnState) -> dict[int, Disposition]:
    return {planned.call.call: planned.disposition for planned in plan_batch(turn, TOOLS)}


def status_of(disposition: Disposition) -> ResultStatus:
    assert isinstance(disposition, CallOutcome)
    return disposition.status


@pytest.mark.rules("T6")
def test_a_fitting_call_runs_with_its_parsed_arguments() -> None:
    assert plan(state(asked(7, "t", '{"n": 1}'))) == {7: Run(spec=SPECS[0], arguments={"n": 1}, raw='{"n": 1}')}


@pytest.mark.rules("T6", "T10")
@pytest.mark.parametrize(
    ("call", "status"),
    [
        (asked(1, "t", "{"), ResultStatus.BAD_ARGUMENTS),
        (asked(1, "nothing"), ResultStatus.UNKNOWN_TOOL),
        (asked(1, "find_tool", '{"query": "put"}'), ResultStatus.OK),
    ],
)
def test_what_can_be_answered_at_once_is(call: CallState, status: ResultStatus) -> None:
    assert status_of(plan(state(call))[1]) is status


@pytest.mark.rules("T9")
@pytest.mark.parametrize("raw", ['{"call": 3, "offset": 40}', '{"call": 3.0, "offset": 4e1}'])
def test_reading_on_names_call_and_offset(raw: str) -> None:
    assert plan(state(asked(5, "read_result", raw))) == {5: ReadOn(call=3, offset=40)}


@pytest.mark.rules("X4", "T10")
@pytest.mark.parametrize("inner", ['{"name": "t", "arguments": {}}', "{}"])
def test_a_call_tool_within_a_call_tool_is_answered_and_does_no_harm(inner: str) -> None:
    outcome = plan(state(asked(1, "call_tool", f'{{"name": "call_tool", "arguments": {inner}}}')))[1]

    assert status_of(outcome) is ResultStatus.BAD_ARGUMENTS


@pytest.mark.rules("T5")
@pytest.mark.parametrize(("batches", "runs"), [(7, True), (8, True), (9, False)])
def test_a_batch_behind_the_last_allowed_one_does_not_run(batches: int, runs: bool) -> None:
    dispositions = plan(state(asked(1), asked(2, "t", '{"n": 2}'), batches=batches))

    assert [isinstance(disposition, Run) for disposition in dispositions.values()] == [runs, runs]
    if not runs:
        assert {status_of(disposition) for disposition in dispositions.values()} == {ResultStatus.NOT_RUN}


@pytest.mark.rules("T7")
def test_the_twin_waits_for_the_first_and_then_quotes_it() -> None:
    waiting = plan(state(asked(1), asked(2)))
    answered = plan(state(ended(asked(1)), asked(2)))

    assert list(waiting) == [1]
    assert list(answered) == [2]
    assert status_of(answered[2]) is ResultStatus.REPEATED


@pytest.mark.rules("T6", "A4")
def test_a_twin_of_what_was_just_denied_is_denied_as_well() -> None:
    denied = ended(asked(1), ResultStatus.DENIED, "The call was denied: no")

    outcome = plan(state(denied, asked(2)))[2]

    assert outcome == CallOutcome(status=ResultStatus.DENIED, text="The call was denied: no")


@pytest.mark.rules("T7")
@pytest.mark.parametrize(
    ("before", "now", "stops"),
    [
        ([], [1, 2], False),
        ([], [1, 2, 3], True),
        ([[ResultStatus.OK]], [1], False),
        ([[ResultStatus.OK]], [1, 2], True),
        ([[ResultStatus.OK], [ResultStatus.REPEATED]], [1], True),
        ([[ResultStatus.OK, ResultStatus.REPEATED]], [1], True),
        ([[ResultStatus.FAILED]], [1, 2], False),
        ([[ResultStatus.FAILED]], [1, 2, 3], True),
        ([[ResultStatus.FAILED, ResultStatus.REPEATED]], [1], False),
        ([[ResultStatus.FAILED, ResultStatus.REPEATED]], [1, 2], True),
        ([[ResultStatus.FAILED], [ResultStatus.FAILED]], [1], False),
        ([[ResultStatus.FAILED], [ResultStatus.FAILED], [ResultStatus.REPEATED]], [1], True),
    ],
    ids=str,
)
def test_the_second_answer_without_a_run_stops_the_batch(
    before: list[list[ResultStatus]], now: list[int], stops: bool
) -> None:
    earlier = [[ended(asked(100), status) for status in statuses] for statuses in before]

    dispositions = plan(state(*(asked(number) for number in now), asked(9, "put"), before=past(*earlier)))

    stopped = [d for d in dispositions.values() if isinstance(d, CallOutcome) and d.limit is Limit.REPEATED_CALL]
    assert len(stopped) == (len(now) + 1 if stops else 0)
    assert all(outcome.status is ResultStatus.NOT_RUN for outcome in stopped)
    assert isinstance(dispositions[9], Run) is not stops


@pytest.mark.rules("T7")
@pytest.mark.parametrize(
    ("name", "arguments", "detection"),
    [("clock", "{}", True), ("t", "{}", False), ("nothing", "{}", True), ("t", "{", True)],
    ids=["repeatable", "detection off", "unknown tool", "bad arguments"],
)
def test_these_are_no_repeats_however_often_they_come(name: str, arguments: str, detection: bool) -> None:
    first = asked(1, name, arguments)
    known = past([ended(first)], [ended(first)])
    calls = [asked(number, name, arguments) for number in range(2, 6)]

    dispositions = plan(state(*calls, before=known, repeat_detection=detection))

    assert len(dispositions) == 4
    assert not [d for d in dispositions.values() if isinstance(d, CallOutcome) and d.limit is not None]
    assert ResultStatus.REPEATED not in [d.status for d in dispositions.values() if isinstance(d, CallOutcome)]


@pytest.mark.rules("A4")
@pytest.mark.parametrize(("name", "detection"), [("t", True), ("t", False), ("clock", True)])
def test_what_was_denied_is_denied_again_in_the_same_words(name: str, detection: bool) -> None:
    known = past([ended(asked(1, name), ResultStatus.DENIED, "The call was denied: no")])

    dispositions = plan(state(asked(2, name), asked(3, name, '{"n": 1}'), before=known, repeat_detection=detection))

    assert dispositions[2] == CallOutcome(status=ResultStatus.DENIED, text="The call was denied: no")
    assert isinstance(dispositions[3], Run)


@pytest.mark.rules("A4", "T12")
@pytest.mark.parametrize(("allowed", "steps", "stops"), [(1, 0, True), (2, 0, False), (2, 1, True), (3, 1, False)])
def test_a_step_that_asks_for_what_was_denied_once_too_often_is_stopped(allowed: int, steps: int, stops: bool) -> None:
    known = past([ended(asked(1), ResultStatus.DENIED, "The call was denied: no")])

    dispositions = plan(
        state(asked(2), asked(3, "put"), asked(4), before=known, denied_repeats=allowed, denied_steps=steps)
    )

    assert [status_of(dispositions[2]), status_of(dispositions[4])] == [ResultStatus.DENIED] * 2
    if stops:
        outcomes = [d for d in dispositions.values() if isinstance(d, CallOutcome)]
        assert [outcome.limit for outcome in outcomes] == [Limit.DENIED_REPEATEDLY] * 3
        assert status_of(dispositions[3]) is ResultStatus.NOT_RUN
    else:
        assert isinstance(dispositions[3], Run)


@pytest.mark.rules("A4", "T7")
def test_denied_calls_are_no_repeats() -> None:
    known = past([ended(asked(1), ResultStatus.DENIED)])

    dispositions = plan(state(asked(2), asked(3), asked(4), before=known, denied_repeats=9))

    assert {status_of(disposition) for disposition in dispositions.values()} == {ResultStatus.DENIED}


@pytest.mark.rules("S4")
def test_a_call_that_was_in_flight_is_sent_again_only_if_it_may_be() -> None:
    dispositions = plan(state(asked(1, started=True), asked(2, "put", started=True)))

    assert status_of(dispositions[1]) is ResultStatus.INTERRUPTED
    assert dispositions[2] == Run(spec=SPECS[3], arguments={}, raw="{}", again=True)


@pytest.mark.rules("X4", "T9")
def test_a_call_is_closed_under_the_name_of_what_ran_and_cut_to_its_cap() -> None:
    call = asked(4, "call_tool", '{"name": "t", "arguments": {}}').call
    outcome = CallOutcome(status=ResultStatus.OK, text="é" * 500, data_class=DataClass.SECRET, untrusted=True)

    closed = close_call(call, outcome, cap=300, fence="00ff")

    result = closed.result
    assert (result.name, result.tool_call_id, result.truncated) == ("t", "id4", True)
    assert (result.original_bytes, result.cap, len(result.content.encode()) <= 300) == (1000, 300, True)
    assert (result.data_class, result.untrusted, result.fence) == (DataClass.SECRET, True, "00ff")
    assert closed.whole == outcome.text


@pytest.mark.rules("T9", "X2", "P6")
@pytest.mark.parametrize("cut_by_port", [False, True])
def test_a_short_text_is_kept_once_and_a_trusted_one_has_no_fence(cut_by_port: bool) -> None:
    outcome = CallOutcome(status=ResultStatus.OK, text="short", cut=cut_by_port)

    closed = close_call(asked(4).call, outcome, cap=300, fence="00ff")

    assert closed.whole is None
    assert (closed.result.content, closed.result.truncated, closed.result.fence) == ("short", cut_by_port, None)


@pytest.mark.rules("T9")
def test_the_next_cap_is_a_share_of_what_the_batch_has_left() -> None:
    shown = ended(asked(1), text="x" * 500)
    turn = state(shown, asked(2), asked(3), used_tokens=2000)

    # Half of 2000 tokens at three bytes, less 500, for two.
    assert next_cap(turn, 4000) == 1250
    assert next_cap(turn, None) == 16_384


@pytest.mark.rules("T7", "X4")
def test_calls_through_call_tool_and_direct_ones_are_twins() -> None:
    inner = asked(1, "call_tool", '{"name": "t", "arguments": {"n": 1}}')
    direct = asked(2, "t", ' {"n":1}')

    assert key_of(inner.call) == key_of(direct.call)
    assert list(plan(state(inner, direct))) == [1]
