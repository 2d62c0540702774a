"""What counts as evaluated again, and how clients without a service build their prompts."""

from __future__ import annotations

import pytest

from benchmarks.cache.counting import Served, needless_share
from benchmarks.cache.prompts import HABITS, WINDOW_MESSAGES, Prompt, append_only, with_clock, with_window
from benchmarks.cache.texts import CONVERSATIONS, SHORT_SYSTEM, questions
from service.core.json_types import JsonObject


def said(messages: int) -> list[JsonObject]:
    return [{"role": ("user", "assistant")[place % 2], "content": str(place)} for place in range(messages)]


def test_a_new_message_has_to_be_evaluated_and_counts_for_nothing() -> None:
    served = Served(prompt=120, cached=100, known=100)

    assert (served.evaluated, served.needless) == (20, 0)


def test_what_was_known_and_not_cached_was_evaluated_again() -> None:
    assert Served(prompt=120, cached=30, known=100).needless == 70


def test_a_system_prompt_that_another_conversation_left_is_no_gain_for_later_losses() -> None:
    first = Served(prompt=100, cached=80, known=0)

    assert needless_share([first, Served(prompt=100, cached=30, known=50)]) == 10.0


def test_nothing_asked_is_nothing_evaluated_again() -> None:
    assert needless_share([]) == 0.0


@pytest.mark.parametrize("prompt", [habit.prompt for habit in HABITS.values()])
def test_each_prompt_begins_with_a_system_prompt_and_ends_with_the_new_message(prompt: Prompt) -> None:
    messages = prompt(SHORT_SYSTEM, said(9), 4)

    assert messages[0]["role"] == "system"
    assert messages[-1] == said(9)[-1]


def test_a_client_that_appends_only_sends_the_prompt_before_and_what_is_new() -> None:
    before, now = append_only(SHORT_SYSTEM, said(7), 3), append_only(SHORT_SYSTEM, said(9), 4)

    assert now[: len(before)] == before


def test_a_clock_changes_the_beginning_of_each_prompt() -> None:
    systems = {with_clock(SHORT_SYSTEM, said(1), turn)[0]["content"] for turn in range(10)}

    assert len(systems) == 10
    assert all(system.endswith(SHORT_SYSTEM) for system in systems)


def test_a_window_drops_what_is_before_the_last_messages() -> None:
    assert with_window(SHORT_SYSTEM, said(9), 4)[1:] == said(9)[-WINDOW_MESSAGES:]


def test_no_conversation_says_the_same_thing_twice_or_what_another_says() -> None:
    asked = [question for conversation in range(CONVERSATIONS) for question in questions(conversation, 10)]

    assert len(set(asked)) == len(asked) == 10 * CONVERSATIONS
