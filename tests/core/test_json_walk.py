"""Every value inside a JSON value, however deep."""

from typing import Any

import pytest

from service.core.json_walk import is_nested_deeper, walk


def nested_lists(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_each_value_comes_once_with_its_level() -> None:
    assert sorted(walk({"a": [1, "b"], "c": {}}), key=repr) == [
        (1, {"a": [1, "b"], "c": {}}),
        (2, [1, "b"]),
        (2, {}),
        (3, "b"),
        (3, 1),
    ]


@pytest.mark.parametrize(
    ("value", "levels", "deeper"),
    [
        (nested_lists(3), 3, False),
        (nested_lists(4), 3, True),
        ([[["text"]]], 3, False),
        ({"a": {"b": {}}}, 2, True),
        ("text", 0, False),
        (nested_lists(100_000), 99_999, True),
    ],
    ids=["at the bound", "one over", "a scalar inside", "objects", "a scalar", "deeper than the stack"],
)
def test_only_objects_and_arrays_count_as_levels(value: Any, levels: int, deeper: bool) -> None:
    assert is_nested_deeper(value, levels) is deeper
