"""Tool calls from their pieces, in every form that servers have been seen to send (L5)."""

from __future__ import annotations

from typing import Any

import pytest

from service.core.call_assembly import MAX_CALLS, CallAssembly
from service.core.completion_events import ModelCall
from service.core.errors import ErrorKind, ModelFailure

pytestmark = pytest.mark.rules("L5")


def piece(index: Any = None, id: Any = None, name: Any = None, arguments: Any = None) -> dict[str, Any]:
    """A piece with only the members that are given."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    members = {"index": index, "id": id, "function": function or None}
    return {key: value for key, value in members.items() if value is not None}


def assembled(*deltas: Any) -> tuple[ModelCall, ...]:
    """Feed one delta after the other; a delta is a piece or a list of them."""
    assembly = CallAssembly()
    for delta in deltas:
        assembly.feed(delta if isinstance(delta, list) else [delta])
    return assembly.calls()


def call(name: str, arguments: str, id: str | None = None) -> ModelCall:
    return ModelCall(id=id, name=name, arguments=arguments)


def test_pieces_are_joined_by_index() -> None:
    assert assembled(
        piece(0, "a", "add", "{"),
        piece(0, arguments='"x":1}'),
        piece(1, "b", "sub", "{"),
        piece(1, arguments="}"),
    ) == (call("add", '{"x":1}', "a"), call("sub", "{}", "b"))


def test_calls_may_come_mixed() -> None:
    assert assembled(
        piece(0, "a", "add", "{"),
        [piece(1, "b", "sub", "{"), piece(0, arguments="}")],
        piece(1, arguments="}"),
    ) == (call("add", "{}", "a"), call("sub", "{}", "b"))


def test_an_id_may_be_missing_empty_or_late() -> None:
    assert assembled(piece(0, None, "add", "{}")) == (call("add", "{}"),)
    assert assembled(piece(0, "", "add", "{}")) == (call("add", "{}"),)
    assert assembled(piece(0, 7, "add", "{}")) == (call("add", "{}"),)
    assert assembled(piece(0, None, "add", "{"), piece(0, "a", arguments="}")) == (call("add", "{}", "a"),)


def test_an_id_may_be_repeated_with_each_piece() -> None:
    assert assembled(piece(0, "a", "add", "{"), piece(0, "a", "add", "}")) == (call("add", "{}", "a"),)


def test_two_calls_may_have_the_same_id() -> None:
    assert assembled(piece(0, "a", "add", "{}"), piece(1, "a", "sub", "{}")) == (
        call("add", "{}", "a"),
        call("sub", "{}", "a"),
    )


def test_an_id_that_changes_along_a_call_is_no_new_call() -> None:
    assert assembled(piece(0, "a", "add", "{"), piece(0, "b", arguments="}")) == (call("add", "{}", "a"),)


def test_an_unknown_id_without_a_name_goes_on_with_the_newest_call() -> None:
    assert assembled(piece(None, "a", "add", "{"), piece(None, "b", "sub", "{"), piece(None, "c", arguments="}")) == (
        call("add", "{", "a"),
        call("sub", "{}", "b"),
    )


def test_a_name_that_comes_again_is_the_same_name() -> None:
    assert assembled(piece(0, "a", "add", ""), piece(0, name="add", arguments="{}")) == (call("add", "{}", "a"),)
    assert assembled(piece(0, "a", "add", "{"), piece(0, name="add", arguments="}")) == (call("add", "{}", "a"),)
    assert assembled(piece(0, "a", "add", "{}"), piece(0, name="add", arguments="")) == (call("add", "{}", "a"),)
    assert assembled(piece(0, "a", "add", "{}"), piece(0, name="add", arguments=" \n")) == (call("add", "{} \n", "a"),)


def test_a_name_may_come_in_parts_or_grow_or_be_late() -> None:
    assert assembled(piece(0, "a", "get_"), piece(0, name="weather", arguments="{}"))[0].name == "get_weather"
    assert assembled(piece(0, "a", "get_"), piece(0, name="get_weather", arguments="{}"))[0].name == "get_weather"
    assert assembled(piece(0, "a", arguments="{}"), piece(0, name="add")) == (call("add", "{}", "a"),)


def test_another_name_behind_arguments_does_not_change_the_first() -> None:
    assert assembled(piece(0, "a", "add", "{"), piece(0, name="sub", arguments="}")) == (call("add", "{}", "a"),)


def test_empty_arguments_stay_empty() -> None:
    assert assembled(piece(0, "a", "now", "")) == (call("now", "", "a"),)
    assert assembled(piece(0, "a", "now")) == (call("now", "", "a"),)


def test_a_call_with_missing_index_goes_on_with_the_next_pieces() -> None:
    assert assembled(piece(None, "a", "add", "{"), piece(arguments="}"), piece(None, "a", arguments=" ")) == (
        call("add", "{} ", "a"),
    )


def test_without_index_an_id_tells_the_calls_apart() -> None:
    assert assembled(
        piece(None, "a", "add", ""),
        piece(None, "b", "add", "{"),
        piece(None, "a", arguments="{}"),
        piece(None, "b", arguments="}"),
    ) == (call("add", "{}", "a"), call("add", "{}", "b"))


def test_without_index_and_id_a_name_behind_whole_arguments_begins_a_call() -> None:
    assert assembled(
        piece(name="add", arguments='{"x":1}'),
        piece(name="add", arguments='{"x":'),
        piece(name="add", arguments="2}"),
    ) == (call("add", '{"x":1}'), call("add", '{"x":2}'))


def test_without_index_and_id_each_name_of_one_delta_is_a_call() -> None:
    assert assembled([piece(name="now"), piece(name="today"), piece(arguments="{}")]) == (
        call("now", ""),
        call("today", "{}"),
    )


def test_an_index_may_be_zero_for_all() -> None:
    assert assembled(
        piece(0, "a", "add", ""),
        piece(0, "b", "add", "{"),
        piece(0, arguments="}"),
        piece(0, "a", arguments="{}"),
        piece(0, None, "sub", "{}"),
    ) == (call("add", "{}", "a"), call("add", "{}", "b"), call("sub", "{}"))


@pytest.mark.parametrize("index", ["0", True, 1.5, [0]])
def test_an_index_that_is_no_number_counts_as_missing(index: Any) -> None:
    assert assembled(piece(index, "a", "add", "{"), piece(index, arguments="}")) == (call("add", "{}", "a"),)


def test_arguments_may_be_an_object_instead_of_its_text() -> None:
    assert assembled(piece(0, "a", "add", {"x": "ü"})) == (call("add", '{"x": "ü"}', "a"),)


@pytest.mark.parametrize("empty", [{}, {"index": 0}, {"function": {}}, {"id": "", "function": {"name": ""}}])
def test_a_call_of_which_nothing_came_is_none(empty: dict[str, Any]) -> None:
    assert assembled(empty) == ()


def test_a_call_without_a_name_is_kept_for_its_answer() -> None:
    assert assembled(piece(0, "a")) == (call("", "", "a"),)
    assert assembled(piece(0, None, None, "{}")) == (call("", "{}"),)


@pytest.mark.parametrize(
    "pieces",
    [
        {"index": 0},
        "add",
        ["add"],
        [None],
        [{"function": "add"}],
        [{"function": ["add"]}],
        [{"function": {"name": ["add"]}}],
        [{"function": {"name": "add", "arguments": 1}}],
        [{"function": {"name": "add", "arguments": ["{}"]}}],
    ],
)
def test_pieces_of_another_shape_are_a_protocol_failure(pieces: Any) -> None:
    with pytest.raises(ModelFailure, match="tool calls that can't be read") as caught:
        CallAssembly().feed(pieces)
    assert caught.value.kind is ErrorKind.PROTOCOL


@pytest.mark.parametrize(("count", "fits"), [(MAX_CALLS, True), (MAX_CALLS + 1, False)])
def test_the_number_of_calls_is_capped(count: int, fits: bool) -> None:
    assembly = CallAssembly()
    pieces = [piece(index, f"id{index}", "now") for index in range(count)]

    if fits:
        assembly.feed(pieces)
        assert len(assembly.calls()) == count
    else:
        with pytest.raises(ModelFailure, match=f"more than {MAX_CALLS} tool calls"):
            assembly.feed(pieces)


def test_arguments_nested_without_end_are_not_taken_for_whole() -> None:
    assert assembled(piece(0, "a", "add", "[" * 100_000), piece(0, name="add", arguments="x")) == (
        call("add", "[" * 100_000 + "x", "a"),
    )


def test_a_delta_tells_how_many_characters_it_added() -> None:
    assert CallAssembly().feed([piece(0, "ab", "add", "{}"), piece(1, None, "sub")]) == 10
