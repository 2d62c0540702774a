"""The log as messages: what is shown, in which form, and what is not until it is settled (P1, P2, P4, P6, P8)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.baseline import Baseline, TemplateProfile
from service.core.ids import TurnId
from service.core.projection import CLOSING_TEXT, Projection
from service.core.records import (
    Assistant,
    CutCall,
    Limit,
    Outcome,
    Record,
    ResultStatus,
    Resumed,
    SessionCreated,
    SessionTotals,
    ToolCall,
    ToolResult,
    TurnFinished,
    TurnOptions,
    TurnQueued,
    User,
)
from service.core.usage import UsageTotals
from tests.fakes.strict_prompt import check_prompt

ABLE = TemplateProfile(hash="h", tools=True, parallel=True)
NO_SYSTEM = TemplateProfile(hash="h", tools=True, parallel=True, system_role=False)
ONE_CALL = TemplateProfile(hash="h", tools=True, parallel=False)
PROFILES = [
    None,
    *(
        TemplateProfile(hash="h", tools=tools, parallel=parallel and tools, system_role=system_role)
        for tools, parallel, system_role in product((True, False), repeat=3)
    ),
]


def project(*records: Record) -> list[dict[str, object]]:
    projection = Projection()
    for record in records:
        projection.apply(record)
    return list(projection.messages)


def created(system: str, template: TemplateProfile | None = None) -> SessionCreated:
    return SessionCreated(agent=None, baseline=Baseline(system=system, template=template))


def user(text: str) -> User:
    return User(content=text, options=TurnOptions())


def said(content: str, **other: object) -> Assistant:
    fields = {"step": 1, "content": content, "reasoning": "", "finish_reason": "stop"}
    return Assistant(**{**fields, **other})  # pyright: ignore[reportArgumentType]


def asked(number: int, arguments: str = "{}") -> ToolCall:
    return ToolCall(call=number, tool_call_id=f"id{number}", model_call_id=None, name="t", arguments=arguments)


def result(number: int, content: str = "x", fence: str | None = None) -> ToolResult:
    return ToolResult(
        call=number, tool_call_id=f"id{number}", name="t", status=ResultStatus.OK, content=content, fence=fence
    )


def ended(outcome: Outcome, limit: Limit | None = None) -> TurnFinished:
    return TurnFinished(outcome=outcome, limit=limit, steps=1, usage=UsageTotals(), totals=SessionTotals())


@pytest.mark.rules("P1")
def test_an_empty_system_prompt_is_left_out() -> None:
    assert project(created("")) == []
    assert project(created("Be brief.")) == [{"role": "system", "content": "Be brief."}]


@pytest.mark.rules("P3")
def test_reasoning_is_sent_back_verbatim_and_left_out_when_there_is_none() -> None:
    assert project(said("Yes.", reasoning=" hm\n"))[0]["reasoning_content"] == " hm\n"
    assert "reasoning_content" not in project(said("Yes."))[0]


@pytest.mark.rules("P2")
def test_a_batch_appears_when_its_last_result_is_in() -> None:
    records = [user("Hi"), said("", tool_calls=(asked(1), asked(2))), result(2, "two"), result(1, "one")]

    assert len(project(*records[:3])) == 1
    whole = project(*records)
    assert [message["role"] for message in whole] == ["user", "assistant", "tool", "tool"]
    assert [message["content"] for message in whole[2:]] == ["one", "two"]


@pytest.mark.rules("P2")
def test_an_assistant_without_content_and_calls_never_appears() -> None:
    cut = said("", cut_calls=(CutCall(name="t", arguments="{"),), finish_reason="length")
    assert project(user("Hi"), cut) == [{"role": "user", "content": "Hi"}]
    assert project(said(" \n")) == []


@pytest.mark.rules("P4")
@pytest.mark.parametrize(("raw", "shown"), [('{"a": 1}', '{"a": 1}'), ("{", "{}"), ("", "{}"), ("[1]", "{}")])
def test_arguments_are_always_an_object(raw: str, shown: str) -> None:
    batch = project(said("", tool_calls=(asked(1, raw),)), result(1))[0]
    assert batch["tool_calls"] == [{"id": "id1", "type": "function", "function": {"name": "t", "arguments": shown}}]


@pytest.mark.rules("P4")
@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_turn_without_a_last_word_of_the_assistant_is_closed_with_a_fixed_one(outcome: Outcome) -> None:
    assert project(user("Hi"), ended(outcome))[-1] == {"role": "assistant", "content": CLOSING_TEXT[outcome]}


@pytest.mark.rules("P2", "P4", "H4")
def test_a_turn_that_ends_in_the_queue_leaves_no_word_in_the_prompt() -> None:
    projection = Projection()
    projection.apply(user("Hi"), TurnId("trn_1"))
    projection.apply(TurnQueued(content="Later", options=TurnOptions()), TurnId("trn_2"))
    projection.apply(ended(Outcome.CANCELLED), TurnId("trn_2"))
    assert projection.messages == ({"role": "user", "content": "Hi"},)
    projection.apply(ended(Outcome.CANCELLED), TurnId("trn_1"))
    assert projection.messages[-1] == {"role": "assistant", "content": CLOSING_TEXT[Outcome.CANCELLED]}


@pytest.mark.rules("P4", "T12")
@pytest.mark.parametrize(
    ("limit", "setting"),
    [
        (Limit.TOOL_ITERATIONS, "tool_iterations"),
        (Limit.REPEATED_CALL, "repeat_detection"),
        (Limit.DENIED_REPEATEDLY, "denied_repeats"),
        (Limit.MAX_TOKENS, "max_tokens"),
        (Limit.TURN_TIME, "turn_time_s"),
    ],
)
def test_the_last_word_of_a_turn_that_a_limit_ended_names_the_limit_and_its_setting(limit: Limit, setting: str) -> None:
    last_word = str(project(user("Hi"), ended(Outcome.TURN_LIMIT, limit))[-1]["content"])
    assert f"limit {limit}" in last_word
    assert setting in last_word


@pytest.mark.rules("P4")
def test_a_turn_with_an_answer_or_without_a_message_needs_no_closing() -> None:
    assert project(user("Hi"), said("Hello."), ended(Outcome.ANSWERED))[-1]["content"] == "Hello."
    assert project(ended(Outcome.CANCELLED)) == []
    assert project(created("Be brief."), ended(Outcome.CANCELLED)) == [{"role": "system", "content": "Be brief."}]


@pytest.mark.rules("P6")
def test_an_untrusted_result_stands_between_its_fences_on_lines_of_their_own() -> None:
    shown = project(said("", tool_calls=(asked(1),)), result(1, "do as I say", fence="00ff00ff00ff00ff"))[1]
    assert shown["content"] == "<untrusted 00ff00ff00ff00ff>\ndo as I say\n</untrusted 00ff00ff00ff00ff>"


def test_a_result_without_a_batch_shows_nothing() -> None:
    assert project(user("Hi"), result(1)) == [{"role": "user", "content": "Hi"}]


@pytest.mark.rules("P1")
def test_what_is_no_part_of_the_conversation_shows_nothing() -> None:
    assert project(user("Hi"), Resumed(attempt=1)) == [{"role": "user", "content": "Hi"}]


@pytest.mark.rules("P8")
def test_without_a_system_role_the_system_prompt_begins_the_first_message_and_no_other() -> None:
    records = [created("Be brief.", NO_SYSTEM), user("Hi"), said("Hello."), ended(Outcome.ANSWERED), user("More")]

    assert project(records[0]) == []
    assert project(*records) == [
        {"role": "user", "content": "Be brief.\n\nHi"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "More"},
    ]
    assert project(created("", NO_SYSTEM), user("Hi")) == [{"role": "user", "content": "Hi"}]


@pytest.mark.rules("P8")
def test_a_turn_cancelled_before_its_message_leaves_the_system_prompt_to_the_next_one() -> None:
    messages = project(created("Be brief.", NO_SYSTEM), ended(Outcome.CANCELLED), user("Hi"))
    assert messages == [{"role": "user", "content": "Be brief.\n\nHi"}]


@pytest.mark.rules("P8")
@pytest.mark.parametrize("template", [None, ABLE], ids=["not known", "able"])
def test_a_template_that_can_do_it_gets_the_general_form(template: TemplateProfile | None) -> None:
    whole = project(
        created("Be brief.", template), user("Hi"), said("", tool_calls=(asked(1), asked(2))), result(1), result(2)
    )
    assert [message["role"] for message in whole] == ["system", "user", "assistant", "tool", "tool"]


@pytest.mark.rules("P8", "P2")
def test_where_one_call_is_allowed_a_batch_is_shown_call_by_call_once_it_is_whole() -> None:
    batch = said("I look.", reasoning="Two of them.", tool_calls=(asked(1), asked(2), asked(3)))
    records = [created("", ONE_CALL), user("Hi"), batch, result(3, "three"), result(1, "one"), result(2, "two")]

    assert len(project(*records[:-1])) == 1
    shown = project(*records)[1:]
    assert [message["role"] for message in shown] == ["assistant", "tool"] * 3
    assert [len(message["tool_calls"]) for message in shown[::2]] == [1, 1, 1]  # pyright: ignore[reportArgumentType]
    assert [message["content"] for message in shown] == ["I look.", "one", "", "two", "", "three"]
    assert [message.get("reasoning_content") for message in shown[::2]] == ["Two of them.", None, None]


@pytest.mark.rules("P8")
def test_a_template_without_tools_gets_a_batch_at_once() -> None:
    template = TemplateProfile(hash="h", tools=False, parallel=False)
    whole = project(created("", template), user("Hi"), said("", tool_calls=(asked(1), asked(2))), result(1), result(2))
    assert [message["role"] for message in whole] == ["user", "assistant", "tool", "tool"]


@pytest.mark.rules("P1", "X4")
@pytest.mark.parametrize("template", [None, ONE_CALL], ids=["at once", "one by one"])
def test_a_result_has_the_name_that_was_called_whatever_tool_gave_it(template: TemplateProfile | None) -> None:
    inner = ToolResult(call=1, tool_call_id="id1", name="inner", status=ResultStatus.OK, content="x")
    shown = project(created("", template), user("Hi"), said("", tool_calls=(asked(1),)), inner)[-1]
    assert (shown["tool_call_id"], shown["name"]) == ("id1", "t")


def turn_of(draw: st.DrawFn, first: int) -> tuple[list[Record], int]:
    """Draw one turn; `first` is the number of its first call."""
    records: list[Record] = [user(draw(TEXT))]
    for _ in range(draw(st.integers(0, 3))):
        numbers = range(first, first + draw(st.integers(1, 3)))
        first = numbers.stop
        calls = tuple(asked(number, draw(st.sampled_from(['{"a": 1}', "{", "[]"]))) for number in numbers)
        records.append(said(draw(TEXT), reasoning=draw(TEXT), tool_calls=calls))
        fence = draw(st.sampled_from([None, "00ff00ff00ff00ff"]))
        records += [result(number, draw(TEXT), fence) for number in draw(st.permutations(numbers))]
    if draw(st.booleans()):
        records.append(said(draw(TEXT), reasoning=draw(TEXT)))
    return [*records, ended(draw(st.sampled_from(Outcome)))], first


TEXT = st.sampled_from(["", " ", "Hm.", "\u2028", "</tool_call>", "\U0001f30a"])


@st.composite
def logs(draw: st.DrawFn) -> list[Record]:
    records: list[Record] = [created(draw(TEXT), draw(st.sampled_from(PROFILES)))]
    first = 1
    for _ in range(draw(st.integers(1, 4))):
        turn, first = turn_of(draw, first)
        records += turn
    return records


def prompts_of(log: Sequence[Record]) -> list[list[str]]:
    """Give the messages as JSON behind each record behind which the model could be asked."""
    projection = Projection()
    prompts: list[list[str]] = []
    for record in log:
        projection.apply(record)
        if projection.messages and projection.messages[-1]["role"] in ("user", "tool"):
            prompts.append([json.dumps(message) for message in projection.messages])
    return prompts


@pytest.mark.rules("P2", "P4", "P8")
@given(log=logs())
def test_under_each_profile_the_messages_only_grow_and_are_well_formed(log: list[Record]) -> None:
    created_first = log[0]
    assert isinstance(created_first, SessionCreated)
    before: list[str] = []

    for prompt in prompts_of(log):
        assert prompt[: len(before)] == before
        check_prompt([json.loads(message) for message in prompt], created_first.baseline.template)
        before = prompt
