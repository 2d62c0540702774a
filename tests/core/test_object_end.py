"""Where an object may end, found piece by piece."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.core.object_end import ObjectEnd
from tests.core.stream_cuts import same_for_all_cuts

pytestmark = pytest.mark.rules("L5")


def reached(pieces: list[str]) -> bool:
    end = ObjectEnd()
    for piece in pieces:
        if piece:
            end.feed(piece)
    return end.is_reached


@pytest.mark.parametrize(
    "text", ["{}", "{} ", ' {"a":{"b":[1]}}', '{"}":"{"}', r'{"a":"\"}"}', r'{"a":"\\"}', '{"a":"\\u007b"}', "}", "[]"]
)
def test_the_brace_that_closes_the_first_one_is_the_end(text: str) -> None:
    assert same_for_all_cuts(reached, text)


@pytest.mark.parametrize("text", ["", "{", '{"a":{}', '{"a":"}', r'{"a":"\"}', r'{"a":"\\\"}', "1", '"{}"', "null"])
def test_a_brace_in_a_string_or_of_an_inner_object_is_not(text: str) -> None:
    assert not same_for_all_cuts(reached, text)


def test_what_follows_the_end_changes_nothing() -> None:
    assert same_for_all_cuts(reached, '{}{"')


VALUES = st.none() | st.text(max_size=5) | st.integers()
OBJECTS = st.dictionaries(st.text(max_size=5), VALUES | st.lists(VALUES, max_size=3), max_size=3)


@settings(deadline=None, max_examples=50)
@given(OBJECTS, st.booleans())
def test_every_object_ends_at_its_last_character(value: dict[str, object], ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)

    assert reached(list(text))
    assert not reached(list(text[:-1]))
