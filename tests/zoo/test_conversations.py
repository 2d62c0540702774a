"""Conversations under chat templates of real models, as the projection writes them for each template (P8)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from service.core.baseline import TemplateProfile
from service.core.json_types import JsonObject
from tests.fakes.strict_prompt import MalformedPrompt, check_prompt
from tests.lengths import some
from tests.zoo.conversations import SAMPLED, WITH_TOOLS, WITHOUT_TOOLS, a_long_turn, two_calls
from tests.zoo.judgement import Kind, Writer, changed, judge, write
from tests.zoo.rendering import Renderer, profile, source
from tests.zoo.sample import FAULTS, SAMPLE
from tests.zoo.shown import shown

ABLE = TemplateProfile(hash="", tools=True, parallel=True)
UNABLE = TemplateProfile(hash="", tools=True, parallel=False, call_id="nine", system_role=False)
WITH = some([name for name, words in SAMPLE.items() if words.startswith("tools")], every=3)
WITHOUT = some([name for name, words in SAMPLE.items() if not words.startswith("tools")], every=3)


@pytest.mark.rules("P8", "P2")
@pytest.mark.parametrize("name", WITH)
def test_a_template_with_tools_shows_each_conversation_whole_and_keeps_what_its_profile_says(name: str) -> None:
    template = source(name)
    found = list(judge(Renderer(template), profile(template), SAMPLED, tools=True))

    assert {finding.kind for finding in found} - {Kind.REOPENS} == FAULTS.get(name, set())
    assert all(finding.again <= 16 for finding in found)


@pytest.mark.rules("P8", "P2")
@pytest.mark.parametrize("name", WITHOUT)
def test_a_template_without_tools_shows_each_conversation_without_tools(name: str) -> None:
    template = source(name)
    found = {finding.kind for finding in judge(Renderer(template), profile(template), WITHOUT_TOOLS, tools=False)}

    assert found - {Kind.REOPENS} == FAULTS.get(name, set())


@pytest.mark.rules("P4", "P8")
@pytest.mark.parametrize("template", [None, ABLE, UNABLE], ids=["not known", "able", "unable"])
@pytest.mark.parametrize("writer", WITH_TOOLS, ids=lambda writer: writer.__name__)
def test_each_conversation_is_well_formed_and_grows_under_each_profile(
    writer: Writer, template: TemplateProfile | None
) -> None:
    sent = [point.messages for point in write(writer, template).sent]

    for messages in sent:
        check_prompt(messages, template)
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(sent))


@pytest.mark.rules("P4")
@pytest.mark.parametrize(
    ("able", "unable"),
    [({}, {"system_role": False}), ({}, {"parallel": False}), ({}, {"call_id": "nine"})],
    ids=lambda trait: next(iter(trait), "able"),  # pyright: ignore[reportUnknownLambdaType]
)
def test_what_one_template_takes_a_stricter_one_refuses(able: dict[str, object], unable: dict[str, object]) -> None:
    messages = write(two_calls, ABLE).sent[-1].messages
    fields = {"hash": "", "tools": True, "parallel": True}

    check_prompt(messages, TemplateProfile(**{**fields, **able}))  # pyright: ignore[reportArgumentType]
    with pytest.raises(MalformedPrompt):
        check_prompt(messages, TemplateProfile(**{**fields, **unable}))  # pyright: ignore[reportArgumentType]


ROLES = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
FORGETFUL = "{% for m in messages %}{% if m.role != 'tool' %}<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}"
LAST_ONLY = "{{ messages[0].content }}{{ messages[-1].content }}"
STRICT = "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('No tools.') }}{% endif %}{% endfor %}"


@pytest.mark.rules("P8")
@pytest.mark.parametrize(
    ("template", "kinds"),
    [
        (ROLES, set[Kind]()),
        (FORGETFUL, {Kind.LOSES}),
        (LAST_ONLY, {Kind.LOSES, Kind.REWRITES_STEP, Kind.REWRITES_TURN}),
        ("{% for m in messages[1:] %}<{{ m.role }}>{{ m.content }}{% endfor %}", {Kind.LOSES_SYSTEM}),
        (STRICT, {Kind.RAISES, Kind.LOSES_SYSTEM, Kind.LOSES}),
        (ROLES + "{% if add_generation_prompt %}<think>{% endif %}", {Kind.REOPENS}),
        (ROLES + "<think>", {Kind.REWRITES_STEP, Kind.REWRITES_TURN}),
    ],
    ids=["shows all", "no results", "first and last", "no head", "raises", "opens a thought", "ends with a mark"],
)
def test_what_a_template_does_wrong_is_found(template: str, kinds: set[Kind]) -> None:
    assert {finding.kind for finding in judge(Renderer(template), ABLE, [two_calls], tools=True)} == kinds


def test_a_template_that_promises_nothing_may_rewrite_what_it_likes() -> None:
    modest = TemplateProfile(hash="", tools=True, parallel=True, keeps_steps=False, keeps_turns=False)
    assert list(judge(Renderer(ROLES + "<think>"), modest, [a_long_turn], tools=True)) == []


@pytest.mark.parametrize(
    "written",
    ['a "b" <c>', 'a \\"b\\" <c>', 'a \\"b\\" \\u003cc\\u003e', "a &quot;b&quot; &lt;c&gt;", "a &#34;b&#34; &lt;c&gt;"],
)
def test_a_text_is_shown_also_where_it_is_written_as_json_or_html(written: str) -> None:
    assert shown(f"> {written} <", [' a "b" <c>\n'])
    assert not shown(f"> {written[:-1]} <", ['a "b" <c>'])


def test_texts_are_shown_one_behind_the_other_only() -> None:
    assert shown("one two", ["one", "two"])
    assert not shown("two one", ["one", "two"])
    assert not shown("one", ["one", "one"])


def test_what_changes_of_a_prompt_is_counted_from_its_first_other_character() -> None:
    assert changed("abc", "abcd") == 0
    assert changed("abc", "abd") == 1
    assert changed("abc", "ab") == 1
    assert changed("abc", "x") == 3


def body(name: str) -> JsonObject:
    """Give a message by its role alone."""
    return {"role": name, "content": "x"}


@pytest.mark.rules("P4")
@pytest.mark.parametrize(
    "messages",
    [
        [],
        [body("user"), body("user")],
        [body("user"), body("assistant")],
        [body("user"), body("system")],
        [{"role": "system", "content": ""}, body("user")],
        [{"role": "user", "content": None}],
        [{**body("user"), "time": "09:30"}],
        [body("user"), {"role": "assistant", "content": " "}, body("user")],
        [body("user"), {**body("assistant"), "reasoning_content": ""}, body("user")],
        [body("user"), {**body("assistant"), "tool_calls": []}, body("user")],
    ],
    ids=str,
)
def test_the_strictest_template_refuses_what_breaks_a_rule(messages: list[JsonObject]) -> None:
    with pytest.raises(MalformedPrompt):
        check_prompt(messages)
