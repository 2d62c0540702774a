"""The log as messages: what is shown, and what is not until it is settled (P1, P2, P4, P6)."""

from __future__ import annotations

import pytest

from service.core.baseline import Baseline
from service.core.projection import CLOSING_TEXT, Projection
from service.core.records import (
    Assistant,
    CutCall,
    Outcome,
    Record,
    ResultStatus,
    SessionCreated,
    SessionTotals,
    ToolCall,
    ToolResult,
    TurnFinished,
    TurnOptions,
    User,
)
from service.core.usage import UsageTotals


def project(*records: Record) -> list[dict[str, object]]:
    projection = Projection()
    for record in records:
        projection.apply(record)
    return list(projection.messages)


def created(system: str) -> SessionCreated:
    return SessionCreated(agent=None, baseline=Baseline(system=system))


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


def ended(outcome: Outcome) -> TurnFinished:
    return TurnFinished(outcome=outcome, steps=1, usage=UsageTotals(), totals=SessionTotals())


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
