"""What a call does, and when two calls do the same (X4, T7)."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.action import Action, action_of, repeat_key
from service.core.json_types import JsonValue


def key(arguments: str, name: str = "t") -> tuple[str, str]:
    return repeat_key(Action(name, arguments))


@pytest.mark.rules("X4")
@pytest.mark.parametrize(
    ("arguments", "inner"),
    [
        ('{"name": "weather", "arguments": {"city": "Paris"}}', Action("weather", '{"city":"Paris"}')),
        ('{"arguments": {"b": 1.0, "a": "é"}, "name": "weather"}', Action("weather", '{"b":1.0,"a":"é"}')),
        ('{"name": "weather", "arguments": "{\\"city\\": 1}"}', Action("weather", '{"city": 1}')),
        ('{"name": "weather", "arguments": "no JSON"}', Action("weather", "no JSON")),
        ('{"name": "weather"}', Action("weather", "{}")),
        ('{"name": "", "arguments": {}}', Action("", "{}")),
    ],
)
def test_a_call_through_call_tool_does_what_is_in_it(arguments: str, inner: Action) -> None:
    assert action_of("call_tool", arguments) == inner


@pytest.mark.rules("X4")
@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"name": 5, "arguments": {}}',
        '{"name": 5.0, "arguments": {}}',
        '{"name": "weather", "arguments": []}',
        '{"name": "weather", "arguments": null}',
        '{"name": "weather", "arguments": 1}',
        '{"name": "weather", "arguments": {}, "why": "because"}',
        '{"name": "call_tool", "arguments": {"name": "weather", "arguments": {}}}',
        "[" * 100_000,
    ],
    ids=lambda arguments: arguments[:60],
)
def test_a_call_tool_that_names_no_other_tool_is_only_itself(arguments: str) -> None:
    assert action_of("call_tool", arguments) == Action("call_tool", arguments)


@pytest.mark.rules("X4")
def test_any_other_tool_is_taken_as_it_is_called() -> None:
    raw = '{"name": "weather", "arguments": {}}'

    assert action_of("find_tool", raw) == Action("find_tool", raw)


@pytest.mark.rules("T7")
@pytest.mark.parametrize(
    "other",
    [
        '{"a":1,"b":[1,2]}',
        '{"b": [1, 2], "a": 1}',
        ' {\n\t"a" : 1 ,\r\n "b" : [ 1,2 ] } ',
        '{"\\u0061": 1, "b": [1, 2]}',
    ],
)
def test_neither_the_order_of_keys_nor_white_space_nor_escapes_make_another_call(other: str) -> None:
    assert key(other) == key('{"a": 1, "b": [1, 2]}')


@pytest.mark.rules("T7")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"n": 1}', '{"n": 1.0}'),
        ('{"n": 1}', '{"n": 1e0}'),
        ('{"n": 1}', '{"n": "1"}'),
        ('{"n": 1}', '{"n": true}'),
        ('{"n": 0}', '{"n": -0}'),
        ('{"n": null}', "{}"),
        ('{"n": [1, 2]}', '{"n": [2, 1]}'),
        ('{"n": "a"}', '{"n": "A"}'),
        ('{"n": "a"}', '{"n": "a "}'),
    ],
)
def test_other_values_make_another_call_and_numbers_count_by_their_text(one: str, other: str) -> None:
    assert key(one) != key(other)


@pytest.mark.rules("T7")
def test_the_name_counts() -> None:
    assert key("{}", "t") != key("{}", "T")


@pytest.mark.rules("T7")
def test_what_is_no_json_is_compared_as_it_stands() -> None:
    assert key(" {oops\n") == key("{oops") != key("{oops}")


@pytest.mark.rules("T7")
def test_a_very_long_text_is_compared_as_it_stands() -> None:
    def spaced(length: int) -> str:
        return '{"a": "' + "x" * (length - 9) + '"}'

    def is_known(raw: str) -> bool:
        return key(raw) == key(raw.replace(" ", ""))

    assert [is_known(spaced(length)) for length in (65_535, 65_536, 65_537)] == [True, True, False]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def shuffled(value: JsonValue, chance: random.Random) -> JsonValue:
    if isinstance(value, dict):
        items = [(name, shuffled(inner, chance)) for name, inner in value.items()]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        chance.shuffle(items)  # pyright: ignore[reportUnknownArgumentType]
        return dict(items)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list):
        return [shuffled(inner, chance) for inner in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return value


@pytest.mark.rules("T7")
@given(value=st.dictionaries(st.text(max_size=5), JSON, max_size=4), chance=st.randoms(use_true_random=False))
def test_any_arguments_in_any_order_and_spacing_are_the_same_call(
    value: dict[str, JsonValue], chance: random.Random
) -> None:
    other = json.dumps(shuffled(value, chance), indent=chance.choice([None, 1, 4]), ensure_ascii=chance.random() < 0.5)

    assert key(other) == key(json.dumps(value))
