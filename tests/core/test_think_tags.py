"""What of the content is thought: tags before the answer, and the rest of a thought that its budget cut (L5)."""

from __future__ import annotations

import pytest

from service.core.completion_events import ContentText, ReasoningText
from service.core.think_tags import HELD_CHARACTERS, ThinkTags
from tests.core.stream_cuts import same_for_all_cuts

pytestmark = pytest.mark.rules("L5")

Parts = tuple[str, str]


def joined(given: list[ReasoningText | ContentText]) -> Parts:
    assert all(text.text for text in given)
    return (
        "".join(text.text for text in given if isinstance(text, ReasoningText)),
        "".join(text.text for text in given if isinstance(text, ContentText)),
    )


def sort(pieces: list[str]) -> Parts:
    tags = ThinkTags()
    given = [text for piece in pieces for text in tags.feed(piece)]
    return joined(given + tags.release())


def sort_expecting_stray(pieces: list[str]) -> Parts:
    tags = ThinkTags()
    tags.expect_stray_closing()
    given = [text for piece in pieces for text in tags.feed(piece)]
    return joined(given + tags.release())


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        ("Hello.", "", "Hello."),
        ("", "", ""),
        ("<think>why</think>Because.", "why", "Because."),
        ("<think>\nwhy\n</think>\n\nBecause.", "\nwhy\n", "Because."),
        ("\n <think>why</think>Because.", "why", "Because."),
        ("<think></think>Because.", "", "Because."),
        ("<think>why", "why", ""),
        ("<think>why</thin", "why</thin", ""),
        ("<think>a < b </b> <think></think>yes", "a < b </b> <think>", "yes"),
        ("<think>one</think> <think>two</think>three", "onetwo", "three"),
        ("</think>Hello.", "", "Hello."),
        (" \n</think>\nHello.", "", "Hello."),
        ("</think></think>Hello.", "", "Hello."),
        ("</think><think>why</think>Hello.", "why", "Hello."),
        ("</think>", "", ""),
        ("</think> \n ", "", ""),
    ],
)
def test_tags_before_the_answer_are_obeyed(text: str, thought: str, answer: str) -> None:
    assert same_for_all_cuts(sort, text) == (thought, answer)


@pytest.mark.parametrize(
    "text",
    [
        "Hello <think>no</think> you",
        "Hello</think>",
        "<thin",
        "<",
        "</",
        "<thinker>",
        "<Think>no</Think>",
        "</ think>",
        " \n leading space",
        "   ",
        "\u00a0\u2028Hello",
        " <b>",
    ],
)
def test_anything_else_is_the_answer_as_it_came(text: str) -> None:
    assert same_for_all_cuts(sort, text) == ("", text)


@pytest.mark.parametrize("text", ["<think>why</think>Because.", "</think>Hello.", "Hello </think>"])
def test_what_follows_is_the_answer_whatever_it_holds(text: str) -> None:
    thought, answer = sort([text])

    assert same_for_all_cuts(sort, text + "<think></think>") == (thought, answer + "<think></think>")


def test_what_is_certain_is_given_at_once() -> None:
    tags = ThinkTags()

    assert tags.feed("<th") == []
    assert tags.feed("ink>a thought </thi") == [ReasoningText(text="a thought ")]
    assert tags.feed("s") == [ReasoningText(text="</this")]
    assert tags.feed("</think>") == []
    assert tags.feed("yes") == [ContentText(text="yes")]
    assert tags.passes_all
    assert tags.feed(" </think>") == [ContentText(text=" </think>")]
    assert tags.release() == []


def test_text_passes_from_its_first_character_on() -> None:
    tags = ThinkTags()

    assert not tags.passes_all
    assert tags.feed("H") == [ContentText(text="H")]
    assert tags.passes_all


@pytest.mark.parametrize("length", [1, HELD_CHARACTERS - 1, HELD_CHARACTERS])
def test_after_a_reached_budget_a_late_closing_tag_makes_what_stands_before_it_thought(length: int) -> None:
    rest = "x" * length

    assert same_for_all_cuts(sort_expecting_stray, f"{rest}</think>\nYes </think>") == (rest, "Yes </think>")


def test_a_closing_tag_behind_the_held_characters_is_text() -> None:
    text = "x" * (HELD_CHARACTERS + 1) + "</think>Yes."

    assert same_for_all_cuts(sort_expecting_stray, text) == ("", text)


def test_without_a_reached_budget_nothing_is_held() -> None:
    assert same_for_all_cuts(sort, "rest</think>Yes.") == ("", "rest</think>Yes.")


def test_held_characters_are_let_go_when_one_too_many_has_come() -> None:
    tags = ThinkTags()
    tags.expect_stray_closing()

    assert tags.feed(" " + "x" * (HELD_CHARACTERS - 1)) == []
    assert tags.feed("y") == [ContentText(text=" " + "x" * (HELD_CHARACTERS - 1) + "y")]
    assert tags.passes_all


def test_the_beginning_of_a_tag_at_the_end_of_the_held_characters_is_waited_for() -> None:
    tags = ThinkTags()
    tags.expect_stray_closing()

    assert tags.feed("x" * HELD_CHARACTERS + "</thin") == []
    assert tags.feed("g") == [ContentText(text="x" * HELD_CHARACTERS + "</thing")]


def test_held_text_is_the_answer_when_the_stream_ends() -> None:
    assert same_for_all_cuts(sort_expecting_stray, "short answer </thin") == ("", "short answer </thin")


def test_tags_before_the_answer_are_obeyed_before_anything_is_held() -> None:
    text = "<think>one</think>two</think>three</think>"

    assert same_for_all_cuts(sort_expecting_stray, text) == ("onetwo", "three</think>")


def test_once_the_answer_has_begun_nothing_is_held_any_more() -> None:
    tags = ThinkTags()
    tags.feed("Yes")
    tags.expect_stray_closing()

    assert tags.feed(" no</think>") == [ContentText(text=" no</think>")]


def test_endless_white_space_is_not_read_again_and_again() -> None:
    tags = ThinkTags()
    for _ in range(20_000):
        assert tags.feed("\n ") == []

    assert joined(tags.feed("x")) == ("", "\n " * 20_000 + "x")
