"""A template's profile in plain words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from service.core.baseline import TemplateProfile
from service.core.template_words import words

pytestmark = pytest.mark.rules("L10")

ABLE = TemplateProfile(hash="h", tools=True, parallel=True, thinking_off="tail")


@pytest.mark.parametrize("has_tools", [True, False])
def test_of_a_template_that_can_do_everything_there_is_nothing_to_say(has_tools: bool) -> None:
    assert words(ABLE, has_tools=has_tools) == ()


@pytest.mark.parametrize(
    ("trait", "says"),
    [
        ({"tools": False}, "does not show tools to the model, so none is called though a tool port is set"),
        ({"parallel": False}, "parallel calls are shown to the model one by one"),
        ({"keeps_steps": False}, "each step evaluates part of the turn again"),
        ({"keeps_turns": False}, "This template rewrites finished turns: each new message evaluates the last turn"),
        ({"system_role": False}, "it goes into the first user message"),
        ({"thinking_off": "none"}, "no switch for thinking"),
    ],
    ids=str,
)
def test_each_trait_that_costs_something_is_one_sentence(trait: dict[str, Any], says: str) -> None:
    (told,) = words(replace(ABLE, **trait), has_tools=True)

    assert says in told
    assert told.endswith(".")


@pytest.mark.parametrize("trait", [{"tools": False}, {"parallel": False}, {"keeps_steps": False}], ids=str)
def test_without_a_tool_port_nobody_is_told_of_tools(trait: dict[str, Any]) -> None:
    assert words(replace(ABLE, **trait), has_tools=False) == ()


def test_a_template_without_tools_is_not_blamed_for_what_it_would_do_with_them() -> None:
    told = words(replace(ABLE, tools=False, parallel=False, keeps_steps=False), has_tools=True)

    assert len(told) == 1


@pytest.mark.parametrize("trait", [{"call_id": "nine"}, {"alternates": True}, {"object_arguments": False}], ids=str)
def test_what_the_service_makes_up_for_is_not_told(trait: dict[str, Any]) -> None:
    assert words(replace(ABLE, **trait), has_tools=True) == ()
