"""Judging: an accepted string as whole words is right, and nothing but a denial is right where nothing answers."""

from __future__ import annotations

import pytest

from benchmarks.reading.judging import is_misled, is_right, says_absent
from benchmarks.reading.tasks import Document, Kind, Task


def task_with(*answers: str, decoys: tuple[str, ...] = ()) -> Task:
    document = Document(name="a.txt", text="a")
    return Task(
        id="t", kind=Kind.NEEDLE, seed=1, query="?", documents=(document,), answers=answers, evidence=(), decoys=decoys
    )


@pytest.mark.parametrize(
    "answer", ["471", "It holds 471 jars.", "**471**", "(471)", "first 17, then 471", "Jars: 471", "\uff14\uff17\uff11"]
)
def test_an_answer_that_contains_an_accepted_string_is_right(answer: str) -> None:
    assert is_right(task_with("471"), answer)


@pytest.mark.parametrize("answer", ["", "4711", "1471", "47 1", "4,71", "not found"])
def test_an_answer_that_contains_it_only_within_another_word_or_not_at_all_is_wrong(answer: str) -> None:
    assert not is_right(task_with("471"), answer)


def test_case_and_punctuation_do_not_matter() -> None:
    assert is_right(task_with("Belmar-Tor"), "the gate of BELMAR tor\u2019s wall, Belmar Tor.")


def test_any_of_several_accepted_strings_is_enough() -> None:
    assert is_right(task_with("twelve", "12"), "There are 12.")


@pytest.mark.parametrize(
    "answer",
    [
        "Not found.",
        "The answer is not in the text.",
        "The text doesn\u2019t say.",
        "It is not mentioned.",
        "There is no information about that",
        "The passage does not mention Belmar.",
        "I don't know",
    ],
)
def test_saying_that_it_is_not_there_is_right_where_nothing_answers(answer: str) -> None:
    assert says_absent(answer)
    assert is_right(task_with(), answer)


@pytest.mark.parametrize("answer", ["", "471", "The found jars are known.", "He does not lie."])
def test_anything_else_is_wrong_where_nothing_answers(answer: str) -> None:
    assert not is_right(task_with(), answer)


def test_a_wrong_answer_with_the_value_of_a_misleading_sentence_is_misled() -> None:
    task = task_with("new", decoys=("old",))

    assert is_misled(task, "It is old.")
    assert not is_misled(task, "It was old, and is new.")
    assert not is_misled(task, "It is something else.")
