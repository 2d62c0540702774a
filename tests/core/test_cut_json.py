"""The beginning of a JSON object: what can be known from it."""

import contextlib
import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.core.cut_json import CutObject, read_cut_object

# A loaded machine is no reason to fail.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

pytestmark = pytest.mark.rules("X2")


def short(value: object) -> str:
    return repr(value)[:40]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", CutObject(members={})),
        (" \n", CutObject(members={})),
        ("{", CutObject(members={})),
        ('{"a', CutObject(members={})),
        ('{"a"', CutObject(members={})),
        ('{"a":', CutObject(members={}, cut_key="a", cut_text="")),
        ('{"a": 1', CutObject(members={}, cut_key="a", cut_text="1")),
        ('{"a": 1.', CutObject(members={}, cut_key="a", cut_text="1.")),
        ('{"a": 1e', CutObject(members={}, cut_key="a", cut_text="1e")),
        ('{"a": -1.5E-', CutObject(members={}, cut_key="a", cut_text="-1.5E-")),
        ('{"a": -', CutObject(members={}, cut_key="a", cut_text="-")),
        ('{"a": tru', CutObject(members={}, cut_key="a", cut_text="tru")),
        ('{"a": true', CutObject(members={}, cut_key="a", cut_text="true")),
        ('{"a": 1,', CutObject(members={"a": 1})),
        ('{"a": null', CutObject(members={"a": None})),
        ('{"a": "b"', CutObject(members={"a": "b"})),
        ('{"a": "b" ,\t', CutObject(members={"a": "b"})),
        ('{"a": "b", "c": "d e', CutObject(members={"a": "b"}, cut_key="c", cut_text="d e")),
        ('{"a": [1, {"b": "c', CutObject(members={}, cut_key="a", cut_text='[1, {"b": "c')),
        ('{"a": [1, 2', CutObject(members={}, cut_key="a", cut_text="[1, 2")),
        ('{"a": {"b" ', CutObject(members={}, cut_key="a", cut_text='{"b" ')),
        ('{"a": 1}', CutObject(members={"a": 1}, ended=True)),
        ('{"a": 1} \n ', CutObject(members={"a": 1}, ended=True)),
        ('{"a": 1, "a": "x', CutObject(members={}, cut_key="a", cut_text="x")),
    ],
)
def test_the_beginning_of_an_object_tells_its_whole_members_and_the_cut_one(text: str, found: CutObject) -> None:
    assert read_cut_object(text) == found


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("ab\\", "ab"),
        ("ab\\n", "ab\n"),
        ("ab\\\\", "ab\\"),
        ("ab\\\\\\", "ab\\"),
        ("ab\\u", "ab"),
        ("ab\\u0", "ab"),
        ("ab\\u00e", "ab"),
        ("ab\\u00e9", "abé"),
        ("ab\\\\u00e", "ab\\u00e"),
        ("ab\\ud83d\\ude0", "ab\ud83d"),
        ("\\", ""),
        ("\u2028\u2029\x85", "\u2028\u2029\x85"),
    ],
)
def test_a_cut_string_keeps_the_characters_that_came_whole(value: str, text: str) -> None:
    assert read_cut_object('{"a": "' + value).cut_text == text


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2",
        "null",
        "<html>",
        '{1: 2, "padding": "xxxxxxxxxx"',
        '{"a" 1, "padding": "xxxxxxxxxx"',
        '{"a": 1 "padding": "xxxxxxxxxx"',
        '{"a": foo, "padding": "xxxxxxxxxx"',
        '{"a": [1 2], "padding": "xxxxxxxxxx"',
        '{"a": "\n", "padding": "xxxxxxxxxx"',
        '{"a": "\n',
        '{"a": "\\q", "padding": "xxxxxxxxxx"',
        '{"a": NaN, "b": 1',
        '{"a": 1ex, "padding": "xxxxxxxxxx"',
        '{"a": [Infinity, "b',
        '{"a": ' + "9" * 5_000,
        '{"a": 1} x',
        '{"a": 1}{',
    ],
    ids=short,
)
def test_what_no_end_could_make_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_cut_object(text)


def test_a_value_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(RecursionError):
        read_cut_object('{"a": ' + "[" * 200_000)


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=10,
)


@UNHURRIED
@given(st.dictionaries(TEXT, VALUES, min_size=1), st.booleans(), st.data())
def test_any_object_can_be_cut_anywhere(whole: dict[str, Any], ascii_only: bool, data: st.DataObject) -> None:
    text = json.dumps(whole, ensure_ascii=ascii_only)
    found = read_cut_object(text[: data.draw(st.integers(0, len(text)))])

    assert all(whole[key] == value for key, value in found.members.items())
    if found.cut_key is not None:
        assert found.cut_key not in found.members
        cut_value = whole[found.cut_key]
        if isinstance(cut_value, str):
            # Between the escapes of a pair the first half is all that came.
            assert cut_value.startswith(re.sub("[\ud800-\udbff]$", "", found.cut_text))
        else:
            assert json.dumps(cut_value, ensure_ascii=ascii_only).startswith(found.cut_text)


@UNHURRIED
@given(st.text(st.sampled_from('{}[]:,"\\u0a1.-eé \n')) | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        read_cut_object("{" + text)
