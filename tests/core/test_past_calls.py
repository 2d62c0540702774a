"""What a turn remembers of its calls, folded from results alone (T7, A4)."""

from __future__ import annotations

from functools import reduce

import pytest

from service.core.past_calls import PastCall, PastCalls, denied_again, key_of, with_batch
from service.core.records import ResultStatus, ToolCall, ToolResult

OK, FAILED, DENIED = ResultStatus.OK, ResultStatus.FAILED, ResultStatus.DENIED
REPEATED, INTERRUPTED, CANCELLED = ResultStatus.REPEATED, ResultStatus.INTERRUPTED, ResultStatus.CANCELLED

Batch = list[tuple[ToolCall, ToolResult]]


def batch(*ends: ResultStatus, first: int = 1, name: str = "t", arguments: str = "{}") -> Batch:
    return [
        (
            ToolCall(call=number, tool_call_id=f"id{number}", model_call_id=None, name=name, arguments=arguments),
            ToolResult(call=number, tool_call_id=f"id{number}", name=name, status=status, content=f"{status} {number}"),
        )
        for number, status in enumerate(ends, start=first)
    ]


def history(*statuses: ResultStatus) -> PastCall | None:
    """Give what is remembered of one call that ended like this, step by step."""
    past: PastCalls = {}
    for number, status in enumerate(statuses, start=1):
        past = with_batch(past, batch(status, first=number))
    assert len(past) <= 1
    return next(iter(past.values()), None)


@pytest.mark.rules("T7")
@pytest.mark.parametrize(
    ("statuses", "may_run"),
    [
        ([OK], False),
        ([FAILED], True),
        ([INTERRUPTED], True),
        ([CANCELLED], True),
        ([DENIED], False),
        ([FAILED, FAILED], False),
        ([INTERRUPTED, CANCELLED], False),
        ([FAILED, OK], False),
        ([FAILED, REPEATED], True),
        ([FAILED, FAILED, REPEATED], False),
        ([OK, REPEATED], False),
        # Only where repeats are not looked at does the same call run so often.
        ([OK, FAILED], True),
    ],
    ids=str,
)
def test_a_call_may_run_once_more_after_a_failure_and_only_once(statuses: list[ResultStatus], may_run: bool) -> None:
    past = history(*statuses)

    assert past is not None
    assert past.may_run is may_run


@pytest.mark.rules("T7")
@pytest.mark.parametrize(
    ("statuses", "repeats", "quoted"),
    [
        ([OK], 0, 1),
        ([OK, REPEATED], 1, 1),
        ([OK, REPEATED, REPEATED], 2, 1),
        ([FAILED, REPEATED, OK], 1, 3),
        ([FAILED, FAILED, REPEATED], 1, 2),
    ],
    ids=str,
)
def test_repeats_are_counted_and_the_last_result_that_was_none_is_quoted(
    statuses: list[ResultStatus], repeats: int, quoted: int
) -> None:
    past = history(*statuses)

    assert past is not None
    assert (past.repeats, past.result.call) == (repeats, quoted)


@pytest.mark.rules("T7")
@pytest.mark.parametrize(
    "status", [ResultStatus.UNKNOWN_TOOL, ResultStatus.BAD_ARGUMENTS, ResultStatus.NOT_RUN, ResultStatus.REPEATED]
)
def test_what_did_nothing_is_not_remembered(status: ResultStatus) -> None:
    assert history(status) is None
    after = history(OK, status)
    assert after is not None
    assert after.result.call == 1


@pytest.mark.rules("A4")
def test_of_a_denial_the_first_text_is_kept() -> None:
    past = history(FAILED, DENIED, DENIED)

    assert past is not None
    assert past.is_denied
    assert past.result.content == "denied 2"


@pytest.mark.rules("A4")
def test_a_denial_counts_as_asked_for_again_only_when_it_was_denied_in_an_earlier_batch() -> None:
    first = batch(DENIED, DENIED)
    past = with_batch({}, first)

    assert not denied_again({}, first)
    assert denied_again(past, batch(OK, name="other") + batch(DENIED, first=3))
    assert not denied_again(past, batch(DENIED, name="other"))
    assert not denied_again(past, batch(ResultStatus.NOT_RUN, first=3))
    assert not denied_again(with_batch({}, batch(FAILED)), batch(DENIED, first=2))


@pytest.mark.rules("T7", "X4")
def test_a_call_is_known_again_through_call_tool_and_in_another_spelling() -> None:
    direct = batch(OK, arguments='{"a": 1, "b": 2}')
    within = batch(OK, name="call_tool", arguments='{"name": "t", "arguments": {"b": 2, "a": 1}}')

    assert key_of(direct[0][0]) == key_of(within[0][0])


@pytest.mark.rules("T7")
def test_calls_are_remembered_side_by_side_and_what_was_remembered_stays_as_it_was() -> None:
    batches = [batch(OK), batch(FAILED, first=2, name="u"), batch(REPEATED, first=3)]
    before: PastCalls = {}

    after = reduce(with_batch, batches, before)

    assert before == {}
    assert {key[0]: (past.result.call, past.repeats) for key, past in after.items()} == {"t": (1, 1), "u": (2, 0)}
