"""What the server's cache should hold, and why it holds less (P5)."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from msgspec import structs

from service.core.baseline import TemplateProfile
from service.core.cache import (
    Circumstances,
    Expectation,
    PromptSizes,
    expected_cache,
    is_another_server,
    is_slot_taken,
    lost_tokens,
    reason_of,
)
from service.core.completion_events import CompletionUsage
from service.core.records import Assistant, CacheLossReason, ToolCall
from service.core.turn_state import TurnState

pytestmark = pytest.mark.rules("P5")

SIZES = PromptSizes(7, 3)
STATE = TurnState(used_tokens=500, first_prompt_tokens=200)
KEEPS = TemplateProfile(hash="t", tools=True, parallel=True)
CALL = ToolCall(call=1, tool_call_id="i", model_call_id=None, name="t", arguments="{}")


def said(step: int, content: str = "Hi", calls: tuple[ToolCall, ...] = ()) -> Assistant:
    return Assistant(step=step, content=content, reasoning="", tool_calls=calls, finish_reason="stop")


@pytest.mark.parametrize(
    ("keeps_turns", "keeps_steps", "step", "expected"),
    [
        (True, True, 0, Expectation(500, 7)),
        (True, True, 1, Expectation(500, 7)),
        (False, True, 0, Expectation(200, 3)),
        (False, True, 1, Expectation(500, 7)),
        (False, False, 0, None),
        (False, False, 1, None),
    ],
)
def test_what_is_expected_is_what_the_template_keeps(
    keeps_turns: bool, keeps_steps: bool, step: int, expected: Expectation | None
) -> None:
    profile = replace(KEEPS, keeps_turns=keeps_turns, keeps_steps=keeps_steps)
    assert expected_cache(structs.replace(STATE, step=step), SIZES, profile) == expected


def test_of_a_template_that_is_not_known_all_is_expected() -> None:
    assert expected_cache(STATE, SIZES, None) == Expectation(500, 7)


def test_a_session_without_a_completion_in_its_prompt_expects_nothing() -> None:
    assert expected_cache(TurnState(), PromptSizes(), KEEPS) is None


@pytest.mark.parametrize(("cached", "lost"), [(500, 0), (436, 0), (435, 65), (0, 500)])
def test_a_loss_counts_from_one_token_over_the_slack(cached: int, lost: int) -> None:
    usage = CompletionUsage(prompt_tokens=600, cached_tokens=cached, completion_tokens=1, reasoning_tokens=0)
    assert lost_tokens(Expectation(500, 7), usage, slack=64) == lost
    assert lost_tokens(None, usage, slack=64) == 0


def test_the_sizes_of_prompts_are_those_of_answers_that_are_in_the_prompt() -> None:
    sizes = PromptSizes().after(said(1, "", (CALL,)), 2).after(said(2), 4)
    assert (sizes, sizes.counted, PromptSizes().counted) == (PromptSizes(4, 2), 5, 0)
    assert sizes.after(said(1, " "), 6) == sizes
    assert sizes.after(said(1), 6) == PromptSizes(6, 6)


@pytest.mark.rules("L10")
@pytest.mark.parametrize("happened", [field.name for field in fields(Circumstances)])
def test_each_circumstance_is_a_reason(happened: str) -> None:
    assert reason_of(Circumstances(**{happened: True})) is CacheLossReason(happened)


def test_the_first_reason_that_fits_counts_and_without_one_it_is_unknown() -> None:
    names = [field.name for field in fields(Circumstances)]
    for place, first in enumerate(names):
        assert reason_of(Circumstances(**dict.fromkeys(names[place:], True))) is CacheLossReason(first)
    assert reason_of(Circumstances()) is CacheLossReason.UNKNOWN
    assert {*names, "unknown"} == set(CacheLossReason)


@pytest.mark.parametrize(
    ("tasks", "served", "another"),
    [([], 9, False), ([0], 1, False), ([0], 2, True), ([3, 7], 8, False), ([3, 7], 9, True)],
)
def test_a_server_that_had_fewer_tasks_than_we_sent_is_another_one(
    tasks: list[int], served: int, another: bool
) -> None:
    assert is_another_server(tasks, served) is another


@pytest.mark.parametrize(("others", "slots", "taken"), [(0, 1, False), (1, 1, True), (1, 2, False), (2, 2, True)])
def test_a_slot_is_taken_when_there_are_more_sessions_than_slots(others: int, slots: int, taken: bool) -> None:
    assert is_slot_taken(others, slots) is taken
