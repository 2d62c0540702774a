"""What a template's renderings tell of it, trait by trait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.baseline import TemplateProfile
from service.core.template import TemplateCaps, profile_of, takes_system_role
from service.core.template_probes import (
    ARGUMENTS,
    NEXT_QUESTION,
    QUESTION,
    RESULTS,
    SYSTEM_TEXT,
    THOUGHTS,
    Probe,
    first_probes,
    further_probes,
)
from tests.core.toy_template import ToyTemplate

pytestmark = pytest.mark.rules("L10")

ABLE = TemplateProfile(
    hash="h",
    tools=True,
    parallel=True,
    call_id="any",
    system_role=True,
    alternates=False,
    object_arguments=True,
    thinking_off="tail",
    keeps_turns=True,
    keeps_steps=True,
)
NOTHING_PROMISED = TemplateProfile(
    hash="h",
    tools=True,
    parallel=False,
    call_id="nine",
    system_role=True,
    alternates=True,
    object_arguments=True,
    thinking_off="none",
    keeps_turns=False,
    keeps_steps=False,
)
ALL_SAID = TemplateCaps(tools=True, parallel=True, system_role=True, object_arguments=True)
ALL_DENIED = TemplateCaps(tools=False, parallel=False, system_role=False, object_arguments=False)
NOTHING_SAID = TemplateCaps()


def renderings(template: ToyTemplate, caps: TemplateCaps = NOTHING_SAID) -> dict[Probe, str | None]:
    first = template.all(first_probes())
    return first | template.all(further_probes(system_role=takes_system_role(first, caps)))


def profile(template: ToyTemplate, caps: TemplateCaps = NOTHING_SAID) -> TemplateProfile:
    return profile_of("h", caps, renderings(template, caps))


def test_a_template_that_can_do_everything() -> None:
    assert profile(ToyTemplate()) == ABLE


@pytest.mark.parametrize(
    ("habit", "trait"),
    [
        ({"shows_tools": False}, {"tools": False, "parallel": False}),
        ({"shows_results": False}, {"tools": False, "parallel": False}),
        ({"shows_calls": False}, {"parallel": False}),
        ({"calls": "one"}, {"parallel": False}),
        ({"calls": "first"}, {"parallel": False}),
        ({"nine_ids": True}, {"call_id": "nine"}),
        ({"system": "raises"}, {"system_role": False}),
        ({"system": "dropped"}, {"system_role": False}),
        ({"system": "asked"}, {"system_role": False, "keeps_turns": False, "keeps_steps": False}),
        ({"second_user": "raises"}, {"alternates": True}),
        ({"second_user": "dropped"}, {"alternates": True}),
        ({"escapes_arguments": True}, {"object_arguments": False}),
        ({"switch": "none"}, {"thinking_off": "none"}),
        ({"switch": "head"}, {"thinking_off": "head"}),
        ({"thoughts": "none", "switch": "none"}, {"thinking_off": "none"}),
        ({"thoughts": "dropped_later"}, {"keeps_turns": False}),
        ({"thoughts": "dropped_later", "switch": "none"}, {"thinking_off": "none", "keeps_turns": False}),
        ({"thoughts": "dropped"}, {"keeps_turns": False, "keeps_steps": False}),
        ({"tools_last": True}, {"keeps_turns": False}),
        ({"marks_last": True}, {"keeps_turns": False, "keeps_steps": False}),
        ({"forgets_remarks": True}, {"keeps_turns": False}),
        ({"answers_without_tools": False}, {}),
    ],
    ids=str,
)
def test_each_habit_shows_in_its_trait_and_in_no_other(habit: dict[str, Any], trait: dict[str, Any]) -> None:
    assert profile(ToyTemplate(**habit)) == replace(ABLE, **trait)


@pytest.mark.parametrize("habit", [{}, {"system": "raises"}, {"system": "dropped"}], ids=str)
@pytest.mark.parametrize("switch", ["none", "tail", "head"])
def test_a_switch_is_found_with_and_without_a_system_message(habit: dict[str, Any], switch: str) -> None:
    assert profile(ToyTemplate(switch=switch, **habit)).thinking_off == switch


@pytest.mark.parametrize(
    ("thoughts", "keeps"),
    [("kept", True), ("dropped", False), ("none", False), ("dropped_later", False)],
)
def test_a_template_without_tools_is_judged_by_a_plain_talk(thoughts: str, keeps: bool) -> None:
    found = profile(ToyTemplate(shows_tools=False, thoughts=thoughts))

    assert (found.keeps_turns, found.keeps_steps) == (keeps, keeps)


def test_a_template_that_loses_the_talk_without_tools_keeps_no_turns() -> None:
    able = renderings(ToyTemplate())

    assert not profile_of("h", NOTHING_SAID, {**able, Probe.ANSWERED: "<another head>"}).keeps_turns


@pytest.mark.parametrize(
    ("probe", "lost", "trait"),
    [
        (Probe.TWO_CALLS, RESULTS[1], {"parallel": False}),
        (Probe.TWO_CALLS, RESULTS[0], {"parallel": False}),
        (Probe.TWO_CALLS, ARGUMENTS[0], {"parallel": False}),
        (Probe.NEXT_TURN, THOUGHTS[2], {"keeps_turns": False}),
        (Probe.ANSWERED, THOUGHTS[2], {"keeps_turns": False}),
    ],
)
def test_a_text_that_is_lost_on_the_way_costs_its_trait(probe: Probe, lost: str, trait: dict[str, Any]) -> None:
    found = renderings(ToyTemplate())
    found[probe] = (found[probe] or "").replace(lost, "")

    assert profile_of("h", NOTHING_SAID, found) == replace(ABLE, **trait)


def test_results_in_another_order_than_their_calls_are_no_parallel_calls() -> None:
    found = renderings(ToyTemplate())
    swapped = (found[Probe.TWO_CALLS] or "").replace(RESULTS[0], "?").replace(RESULTS[1], RESULTS[0])
    found[Probe.TWO_CALLS] = swapped.replace("?", RESULTS[1])

    assert not profile_of("h", NOTHING_SAID, found).parallel


def test_what_is_seen_wins_over_what_the_server_says() -> None:
    unable = ToyTemplate(shows_tools=False, system="raises", escapes_arguments=True)
    expected = replace(ABLE, tools=False, parallel=False, system_role=False, object_arguments=False)

    assert profile(ToyTemplate(), ALL_DENIED) == replace(ABLE, object_arguments=False)
    assert profile(unable, ALL_SAID) == expected


@pytest.mark.parametrize("unseen", [{}, {Probe.USER: None}, renderings(ToyTemplate(broken=True))], ids=len)
@pytest.mark.parametrize(
    ("caps", "trait"),
    [
        (NOTHING_SAID, {}),
        (ALL_SAID, {"parallel": True}),
        (ALL_DENIED, {"tools": False, "system_role": False, "object_arguments": False}),
    ],
    ids=["nothing said", "all said", "all denied"],
)
def test_where_nothing_is_seen_the_server_is_believed_and_nothing_else_promised(
    unseen: dict[Probe, str | None], caps: TemplateCaps, trait: dict[str, Any]
) -> None:
    assert profile_of("h", caps, unseen) == replace(NOTHING_PROMISED, **trait)


@pytest.mark.parametrize(
    ("missing", "trait"),
    [
        (Probe.SYSTEM_USER, {"thinking_off": "none", "keeps_turns": False}),
        (Probe.TWO_USERS, {"alternates": True}),
        (Probe.THINKING_OFF, {"thinking_off": "none"}),
        (Probe.ANSWERED, {"keeps_turns": False}),
        (Probe.TOOLS, {"keeps_turns": False, "keeps_steps": False}),
        (Probe.ONE_CALL, {"keeps_turns": False, "keeps_steps": False}),
        (Probe.MODEL_ID, {"call_id": "nine"}),
        (Probe.TWO_CALLS, {"parallel": False}),
        (Probe.SECOND_STEP, {"keeps_turns": False, "keeps_steps": False}),
        (Probe.NEXT_TURN, {"keeps_turns": False}),
    ],
)
def test_an_answer_that_is_missing_costs_its_own_traits_only(missing: Probe, trait: dict[str, Any]) -> None:
    found = renderings(ToyTemplate())
    del found[missing]

    assert profile_of("h", NOTHING_SAID, found) == replace(ABLE, **trait)


TEXTS = st.one_of(st.none(), st.text(max_size=30), st.sampled_from([*renderings(ToyTemplate()).values()]))


@given(st.dictionaries(st.sampled_from(Probe), TEXTS), st.sampled_from([NOTHING_SAID, ALL_SAID, ALL_DENIED]))
def test_any_renderings_give_a_profile(found: dict[Probe, str | None], caps: TemplateCaps) -> None:
    made = profile_of("h", caps, found)

    assert made.call_id in ("any", "nine")
    assert made.thinking_off in ("none", "tail", "head")
    assert made.tools or not made.parallel
    assert made.keeps_steps or not made.keeps_turns


def test_the_probes_end_as_requests_do_and_each_text_stands_in_one_place_only() -> None:
    bodies = {**first_probes(), **further_probes(system_role=True)}
    longest = str(bodies[Probe.NEXT_TURN]["messages"])

    assert set(bodies) == set(Probe)
    assert all(body["messages"][-1]["role"] in ("user", "tool") for body in bodies.values())
    marks = (SYSTEM_TEXT, QUESTION, NEXT_QUESTION, *ARGUMENTS, *RESULTS, *THOUGHTS)
    assert [longest.count(mark) for mark in marks] == [1] * len(marks)
