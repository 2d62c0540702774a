"""JSON whose numbers stay the text that they were (T7)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.exact_json import MAX_LEVELS, NumberText, read_exact, write_exact
from service.core.json_types import JsonValue

pytestmark = pytest.mark.rules("T7")

NUMBERS = ["1", "1.0", "1e0", "1E0", "-0", "0", "0.10", "1" * 5000, "1e999", "0.1000000000000000055511151231257827"]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:12])
def test_a_number_is_written_as_it_was_read(number: str) -> None:
    assert write_exact(read_exact(f' [ {number} , {{"n":\t{number}}} ] ')) == f'[{number},{{"n":{number}}}]'


def test_a_number_is_no_text_and_a_text_no_number() -> None:
    number, text = read_exact('[1, "1"]')  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]

    assert (type(number), type(text)) == (NumberText, str)  # pyright: ignore[reportUnknownArgumentType]
    assert write_exact(read_exact('[1, "1"]')) == '[1,"1"]'


@pytest.mark.parametrize("word", ["true", "false", "null", '""', '"\\u0000"', '"\u2028é\U0001f30a\\""', "[]", "{}"])
def test_all_else_is_written_compactly_and_in_plain_characters(word: str) -> None:
    assert write_exact(read_exact(f" {word} ")) == word


def test_keys_keep_their_order_or_are_sorted_at_each_depth() -> None:
    raw = '{"b": [{"d": 1, "c": 2}], "a": {"z": null, "é": true, "y": false}}'

    assert write_exact(read_exact(raw)) == raw.replace(" ", "")
    assert write_exact(read_exact(raw), sort_keys=True) == '{"a":{"y":false,"z":null,"é":true},"b":[{"c":2,"d":1}]}'


def test_of_a_repeated_key_the_last_one_counts() -> None:
    assert write_exact(read_exact('{"a": 1, "a": 2}')) == '{"a":2}'


@pytest.mark.parametrize("raw", ["", "{", "[1,]", "nul", "{'a': 1}", '{"a": 1} x', "01"])
def test_what_is_no_json_is_refused(raw: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the decoder's own text
        read_exact(raw)


@pytest.mark.parametrize("levels", [MAX_LEVELS + 1, 100_000])
def test_what_is_nested_too_deep_is_refused_by_name(levels: int) -> None:
    with pytest.raises(ValueError, match="nested too deep"):
        read_exact("[" * levels + "]" * levels)


def test_what_is_nested_as_deep_as_allowed_is_read() -> None:
    deep = "[" * MAX_LEVELS + "]" * MAX_LEVELS

    assert write_exact(read_exact(deep)) == deep


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(value=JSON, indent=st.sampled_from([None, 0, 3]))
def test_any_value_means_the_same_afterwards_and_white_space_leaves_no_trace(
    value: JsonValue, indent: int | None
) -> None:
    written = write_exact(read_exact(json.dumps(value, indent=indent)))

    assert json.loads(written) == value
    assert written == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
