"""Rules that are small enough for a table: ids of calls, limits, labels, the hash chain, requests, views."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import pytest
from msgspec import structs

from service.core.agents import AgentProfile, AgentProfiles
from service.core.baseline import Baseline, Limits, TemplateProfile, Thinking
from service.core.call_ids import numbered_calls
from service.core.chain import GENESIS, link
from service.core.completion_events import ModelCall
from service.core.errors import ErrorKind
from service.core.ids import SessionId, TurnId
from service.core.json_types import JsonObject
from service.core.labels import DataClass, higher_class
from service.core.limits import LimitTooHigh, lowered
from service.core.records import Entry, Outcome, SessionTotals, ToolChoice, TurnFinished, TurnOptions
from service.core.request_building import build_request
from service.core.text import encodable
from service.core.toolset import Toolset
from service.core.turn import AskModel
from service.core.turn_state import TurnState
from service.core.turn_view import turn_view
from service.core.usage import UsageTotals
from service.core.views import TurnState as ShownState


def ids(*model_ids: str | None, nine: bool = False) -> list[str]:
    calls = [ModelCall(id=model_id, name="t", arguments="{}") for model_id in model_ids]
    return [call.tool_call_id for call in numbered_calls(calls, 7, nine=nine)]


@pytest.mark.rules("P4")
@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (("a", "b"), ["a", "b"]),
        ((None, "b"), ["c00000007", "b"]),
        (("", "b"), ["c00000007", "b"]),
        (("a", "a"), ["c00000007", "c00000008"]),
        (("c00000008", None), ["c00000007", "c00000008"]),
    ],
)
def test_a_calls_id_is_the_models_unless_it_is_missing_empty_double_or_looks_like_ours(
    given: tuple[str | None, ...], shown: list[str]
) -> None:
    assert ids(*given) == shown


@pytest.mark.rules("P4")
def test_where_the_template_wants_nine_letters_or_digits_every_id_is_derived() -> None:
    assert ids("abcdefghi", "x", nine=True) == ["c00000007", "c00000008"]


@pytest.mark.rules("P4")
def test_the_record_keeps_the_models_own_id_too() -> None:
    (call,) = numbered_calls([ModelCall(id="", name="t", arguments="{")], 1, nine=False)
    assert (call.call, call.model_call_id, call.arguments) == (1, "", "{")


@pytest.mark.rules("T12")
@pytest.mark.parametrize(
    ("allowed", "asked", "passes"),
    [
        ({"tool_iterations": 4}, {"tool_iterations": 3}, True),
        ({"tool_iterations": 4}, {"tool_iterations": 4}, True),
        ({"tool_iterations": 4}, {"tool_iterations": 5}, False),
        ({"turn_time_s": 0}, {"turn_time_s": 60}, True),
        ({"turn_time_s": 60}, {"turn_time_s": 0}, False),
        ({"turn_time_s": 60}, {"turn_time_s": 61}, False),
        ({"turn_time_s": 60}, {"turn_time_s": 59}, True),
        ({"turn_time_s": 0}, {"turn_time_s": 0}, True),
        ({"repeat_detection": True}, {"repeat_detection": False}, False),
        ({"repeat_detection": False}, {"repeat_detection": True}, True),
        ({"repeat_detection": False}, {"repeat_detection": False}, True),
        ({}, None, True),
    ],
)
def test_a_limit_may_be_lowered_and_not_raised(allowed: JsonObject, asked: JsonObject | None, passes: bool) -> None:
    bounds = Limits(**allowed)
    if passes:
        assert lowered(bounds, asked) == Limits(**{**allowed, **(asked or {})})
    else:
        with pytest.raises(LimitTooHigh, match=next(iter(asked or {}))):
            lowered(bounds, asked)


@pytest.mark.rules("X6")
def test_the_higher_class_wins() -> None:
    order = [DataClass.PUBLIC, DataClass.INTERNAL, DataClass.SECRET]
    for low, one in enumerate(order):
        for high, other in enumerate(order):
            assert higher_class(one, other) is order[max(low, high)]


@pytest.mark.rules("S3")
def test_a_records_hash_covers_the_raw_hash_before_it_and_its_exact_bytes() -> None:
    first = link(GENESIS, b'{"a":1}')
    assert first == hashlib.sha256(b"\0" * 32 + b'{"a":1}').digest()
    assert link(first, b"x") == hashlib.sha256(first + b"x").digest()


def test_lone_surrogates_are_replaced_and_pairs_are_kept() -> None:
    assert encodable("a\ud83db👋") == "a\ufffdb👋"


STATE = TurnState(options=TurnOptions(limits=Limits(max_tokens=100, thinking_tokens=50)))


@pytest.mark.rules("C0", "L1", "L6")
@pytest.mark.parametrize(
    ("thinking", "context", "max_tokens", "budget"),
    [(Thinking.ON, None, 150, 50), (Thinking.OFF, None, 100, None), (Thinking.ON, 120, 120, 50)],
)
def test_a_request_is_always_bounded(
    thinking: Thinking, context: int | None, max_tokens: int, budget: int | None
) -> None:
    baseline = Baseline(thinking=thinking)
    request = build_request(baseline, (), Toolset(), STATE, AskModel(step=1, tool_choice=ToolChoice.AUTO), context)
    assert (request.max_tokens, request.thinking_budget_tokens) == (max_tokens, budget)


@pytest.mark.rules("L6")
@pytest.mark.parametrize(
    ("used", "counted", "content", "budget"),
    [
        (0, 0, "", 50),
        (60, 1, "", 30),
        (20, 1, "x" * 120, 30),
        (0, 0, "x" * 240, 20),
        (110, 1, "", 16),
        (200, 1, "", 16),
    ],
)
def test_a_thought_gets_at_most_half_of_the_room_that_is_left(
    used: int, counted: int, content: str, budget: int
) -> None:
    messages = ({"role": "user", "content": "counted"}, {"role": "user", "content": content})[1 - counted :]
    state = structs.replace(STATE, used_tokens=used)
    ask = AskModel(step=1, tool_choice=ToolChoice.AUTO)
    request = build_request(Baseline(), messages, Toolset(), state, ask, 120, counted=counted)
    assert request.thinking_budget_tokens == budget


@pytest.mark.rules("L1")
@pytest.mark.parametrize("parallel", [True, False])
def test_calls_at_the_same_time_are_asked_for_as_the_template_can(parallel: bool) -> None:
    template = TemplateProfile(hash="h", tools=True, parallel=parallel)
    ask = AskModel(step=1, tool_choice=ToolChoice.AUTO)
    known = build_request(Baseline(template=template), (), Toolset(), STATE, ask, None)
    unknown = build_request(Baseline(), (), Toolset(), STATE, ask, None)
    assert (known.parallel_tool_calls, unknown.parallel_tool_calls) == (parallel, False)


@pytest.mark.rules("T11")
def test_without_thinking_an_empty_answer_is_asked_again_without_a_budget() -> None:
    ask = AskModel(step=1, tool_choice=ToolChoice.AUTO, retry_of=ErrorKind.EMPTY_ANSWER, after_thought_only=True)
    baseline = Baseline(thinking=Thinking.OFF, sampling={"temperature": 1.5})
    request = build_request(baseline, (), Toolset(), STATE, ask, None)
    assert (request.thinking_budget_tokens, request.sampling) == (None, {"temperature": 1.5, "seed": 1})


def test_a_turn_that_ended_before_its_message_was_taken_up_has_a_view() -> None:
    end = TurnFinished(outcome=Outcome.CANCELLED, steps=0, usage=UsageTotals(), totals=SessionTotals())
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    view = turn_view([Entry(session=SessionId("ses_1"), turn=TurnId("trn_1"), seq=2, time=moment, record=end)])
    assert (view.state, view.outcome, view.first_seq, view.last_seq) == (ShownState.FINISHED, Outcome.CANCELLED, 2, 2)


@pytest.mark.rules("G1")
def test_the_default_profile_serves_sessions_that_name_none() -> None:
    one, two = AgentProfile(name="one"), AgentProfile(name="two")
    profiles = AgentProfiles(profiles={"one": one, "two": two}, default="two")
    assert (profiles.get(None), profiles.get("one"), profiles.get("three")) == (two, one, None)
    assert AgentProfiles(profiles={"one": one}).get(None) is None
