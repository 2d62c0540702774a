"""A text is cut between characters as people see them, never within one (T9)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.text_boundary import boundary_before, boundary_behind

pytestmark = pytest.mark.rules("T9")

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
WHOLE = {
    "family": FAMILY,
    "skin tone": "\U0001f44d\U0001f3fd",
    "flag of letters": "\U0001f1e9\U0001f1ea",
    "flag of tags": "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "keycap": "1\ufe0f\u20e3",
    "accents": "e\u0301\u0323",
    "spacing mark": "\u0915\u093f",
    "line end": "\r\n",
}


@pytest.mark.parametrize("cluster", WHOLE.values(), ids=WHOLE.keys())
def test_no_cut_falls_into_what_is_seen_as_one_character(cluster: str) -> None:
    text = f"ab{cluster}cd"
    end = 2 + len(cluster)

    assert [boundary_before(text, place) for place in range(2, end)] == [2] * len(cluster)
    assert [boundary_behind(text, place) for place in range(3, end + 1)] == [end] * len(cluster)


@pytest.mark.parametrize("cluster", WHOLE.values(), ids=WHOLE.keys())
def test_between_two_such_characters_a_cut_is_taken(cluster: str) -> None:
    text = cluster * 2

    assert boundary_before(text, len(cluster)) == boundary_behind(text, len(cluster)) == len(cluster)


@pytest.mark.parametrize("count", [1, 40, 400])
def test_of_a_row_of_flags_each_stays_whole(count: int) -> None:
    text = "x" + "\U0001f1eb\U0001f1f7" * count + "y"
    ends = [1 + 2 * flag for flag in range(count + 1)]

    assert {boundary_before(text, place) for place in range(1, len(text))} == set(ends)
    assert {boundary_behind(text, place) for place in range(1, len(text))} == set(ends)


@pytest.mark.parametrize("text", ["abc", "日本語", "a\nb", "\n\r\n"[::-1]])
def test_plain_text_is_cut_where_it_is_asked_for(text: str) -> None:
    places = [place for place in range(len(text) + 1) if text[max(0, place - 1) : place + 1] != "\r\n"]

    assert [boundary_before(text, place) for place in places] == places
    assert [boundary_behind(text, place) for place in places] == places


def test_the_ends_of_a_text_are_boundaries_whatever_stands_there() -> None:
    assert (boundary_before("\u0301a\u0301", 0), boundary_behind("\u0301a\u0301", 0)) == (0, 0)
    assert (boundary_before("a\u0301", 2), boundary_behind("a\u0301", 2)) == (2, 2)
    assert (boundary_before("abc", 9), boundary_behind("abc", 9)) == (3, 3)
    assert (boundary_before("\u0301\u0301", 1), boundary_behind("a\u0301\u0301", 1)) == (0, 3)


def test_a_text_of_marks_alone_is_cut_somewhere_all_the_same() -> None:
    marks = "\u0301" * 1000

    assert (boundary_before(marks, 500), boundary_behind(marks, 500)) == (500, 500)
    assert boundary_before(marks, 64) == 0
    assert boundary_before(marks, 65) == 65
    assert boundary_behind(marks, 1000 - 64) == 1000
    assert boundary_behind(marks, 1000 - 65) == 1000 - 65


@given(
    pieces=st.lists(st.sampled_from([*WHOLE.values(), "a", "é", " ", "\n", "\U0001f30a"]), max_size=30),
    place=st.integers(0, 200),
)
def test_a_boundary_is_the_nearest_end_of_a_piece(pieces: list[str], place: int) -> None:
    # Pieces that would join when they stand side by side are kept apart.
    text, ends = "", {0}
    for piece in pieces:
        text += piece + "-"
        ends |= {len(text) - 1, len(text)}

    assert boundary_before(text, place) == max(end for end in ends if end <= place)
    assert boundary_behind(text, place) == min((end for end in ends if end >= place), default=len(text))
