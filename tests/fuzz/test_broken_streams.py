"""A few thousand broken streams with a fixed seed, and what judges them: `make fuzz` runs a million (L4, L5)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.core.completion_events import Completion, ModelCall
from service.core.errors import ErrorKind, ModelFailure
from tests.core.completion_outcome import DONE, STOP, calls, chunk, content, reasoning
from tests.fuzz import every_cut
from tests.fuzz.cases import Case, check, defect_of, made, smallest
from tests.fuzz.judge import Unsound, judge, outcome
from tests.recordings.exchanges import names, recorded

SEED = 20250917
CASES = 5_000


@pytest.mark.rules("L4", "L5")
def test_a_broken_stream_is_a_typed_failure_or_a_completion_of_what_it_says() -> None:
    ends = Counter(check(made(SEED, number)) for number in range(CASES))

    # Streams that all fail would show nothing.
    assert ends["completion"] > CASES // 8
    assert ends["completion with calls"] > CASES // 16
    assert {ErrorKind.PROTOCOL, ErrorKind.STREAM_CLOSED, ErrorKind.UPSTREAM_ERROR} <= set(ends)


Strategy = st.SearchStrategy[Any]


def some_of(**members: Strategy) -> Strategy:
    """Draw objects that may lack any of their members."""
    return st.fixed_dictionaries({}, optional=members)


TEXTS: Strategy = st.text(max_size=3) | st.sampled_from(
    ["<think>", "</think>", "<", "/think>", " ", "\n", "a", "yes", "\u2028", "\ud83d"]
)
FUNCTIONS = some_of(
    name=st.sampled_from(["", "add", "sub"]), arguments=st.sampled_from(["", "{", '"x":1', "}", "{}", " "])
)
PIECES = some_of(index=st.integers(0, 2), id=st.sampled_from(["", "a", "b"]), function=FUNCTIONS)
DELTAS = some_of(
    content=st.none() | TEXTS,
    reasoning_content=st.none() | TEXTS,
    reasoning=TEXTS,
    tool_calls=st.lists(PIECES, max_size=2),
)


@pytest.mark.rules("L5")
@settings(deadline=None, max_examples=100)
@given(st.lists(DELTAS, max_size=8), st.sampled_from([None, 2, 8]), st.integers(0, 4000))
def test_deltas_of_every_kind_come_to_what_they_say(deltas: list[Any], budget: int | None, place: int) -> None:
    stream = b"".join(chunk(delta) for delta in deltas) + STOP + DONE

    check(Case(pieces=(stream[:place], stream[place:]), budget=budget))


STREAM = (
    reasoning("why", " not")
    + content("Be", "cause.")
    + calls({"index": 0, "id": "a", "function": {"name": "add", "arguments": "{}"}})
    + chunk({}, "tool_calls", usage={"prompt_tokens": 9, "completion_tokens": 5})
    + DONE
)


def judged(**changed: Any) -> None:
    shown, end = outcome([STREAM], None)
    assert isinstance(end, Completion)
    judge(STREAM, shown, end, None)
    changed_end = replace(end, **changed)
    judge(STREAM, (changed_end.reasoning, changed_end.content), changed_end, None)


@pytest.mark.parametrize(
    "changed",
    [
        {"content": "Because"},
        {"content": "Because.."},
        {"content": "cause.Be"},
        {"content": "", "reasoning": "why notBecause."},
        {"reasoning": "why"},
        {"finish_reason": "stop"},
        {"calls": ()},
        {"calls": (ModelCall(id="a", name="add", arguments="{"),)},
        {"calls": (ModelCall(id="b", name="add", arguments="{}"),)},
        {"calls": (ModelCall(id="a", name="sub", arguments="{}"),)},
        {"estimated": True},
    ],
    ids=str,
)
def test_a_completion_that_the_stream_does_not_support_is_noticed(changed: dict[str, Any]) -> None:
    with pytest.raises(Unsound):
        judged(**changed)


def test_counts_that_the_stream_does_not_tell_are_noticed() -> None:
    _, end = outcome([STREAM], None)
    assert isinstance(end, Completion)
    for member in ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens"):
        with pytest.raises(Unsound):
            judged(usage=replace(end.usage, **{member: 3}))


def test_a_completion_instead_of_a_failure_is_noticed_and_the_other_way_round() -> None:
    shown, end = outcome([STREAM], None)
    cut = STREAM[: STREAM.index(b'"finish_reason":"tool_calls"')]

    with pytest.raises(Unsound):
        judge(cut, shown, end, None)
    with pytest.raises(Unsound):
        judge(STREAM, shown, ModelFailure(ErrorKind.PROTOCOL, "no"), None)


@pytest.mark.parametrize(
    ("texts", "supported"),
    [(("{}", "12"), True), (("12", "{}"), True), (("{2", "1}"), True), (("21", "{}"), False), (("{}1", ""), False)],
)
def test_odd_calls_may_share_their_pieces_in_any_way_but_out_of_order(texts: tuple[str, ...], supported: bool) -> None:
    stream = calls(*({"id": "a", "function": {"name": "f", "arguments": text}} for text in "{1}2")) + STOP
    shown, end = outcome([stream], None)
    assert isinstance(end, Completion)
    made_up = replace(end, calls=tuple(ModelCall(id="a", name="f", arguments=text) for text in texts))

    if supported:
        judge(stream, shown, made_up, None)
    else:
        with pytest.raises(Unsound):
            judge(stream, shown, made_up, None)


def test_a_number_always_makes_the_same_stream() -> None:
    assert made(SEED, 17) == made(SEED, 17)
    assert made(SEED, 17) != made(SEED, 18)
    assert made(SEED, 17) != made(SEED + 1, 17)


def test_a_defect_is_shown_in_its_smallest_form() -> None:
    def has_bad_byte(case: Case) -> str | None:
        return "bad" if b"\xff" in b"".join(case.pieces) else None

    def is_cut_in_the_middle(case: Case) -> str | None:
        return "bad" if b"good" not in case.pieces and b"go" in case.pieces else None

    noisy = Case(pieces=(b"one\ntwo", b"\nthr\xffee\n", b"four"), budget=8)
    assert smallest(noisy, has_bad_byte) == Case(pieces=(b"\xff",), budget=8)
    cut = Case(pieces=(b"one", b"go", b"od", b"two"), budget=None)
    assert smallest(cut, is_cut_in_the_middle) == Case(pieces=(b"go",), budget=None)


def test_any_exception_that_is_no_typed_failure_is_a_defect() -> None:
    class Odd(bytes):
        def splitlines(self, keepends: bool = False) -> list[bytes]:
            raise KeyError("odd")

    assert defect_of(Case(pieces=(STREAM,), budget=None)) is None
    assert defect_of(Case(pieces=(Odd(STREAM),), budget=None)) == "KeyError: 'odd'"


def test_the_long_run_cuts_each_recording_at_each_of_its_bytes() -> None:
    lengths = {name: len(exchange.body) for name in names() if (exchange := recorded(name)).streams}
    tasks = sorted(every_cut.tasks())

    for name, parts in groupby(tasks, key=lambda task: task[0]):
        places = [place for _, start, end in parts for place in range(start, end)]
        assert places == list(range(lengths.pop(name) + 1))
    assert lengths == {}
    assert every_cut.differences(("reasoning_only_stop", 0, 200)) == []
