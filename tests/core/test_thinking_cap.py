"""The cap on a thought: nothing, then the server is told, then the stream is closed (L6)."""

from __future__ import annotations

import pytest

from service.core.thinking_cap import CapMeasure, ThinkingCap

pytestmark = pytest.mark.rules("L6", "T12")


@pytest.mark.parametrize(
    ("tokens", "measure"),
    [
        (0, None),
        (163, None),
        (164, CapMeasure.END_THOUGHT),
        (165, CapMeasure.END_THOUGHT),
        (227, CapMeasure.END_THOUGHT),
        (228, CapMeasure.CLOSE),
        (229, CapMeasure.CLOSE),
    ],
)
def test_a_thought_of_this_length_under_a_budget_of_a_hundred(tokens: int, measure: CapMeasure | None) -> None:
    assert ThinkingCap(100).measure(tokens) is measure


def test_the_server_is_told_once() -> None:
    cap = ThinkingCap(100)
    assert [cap.measure(tokens) for tokens in (164, 165, 200, 228)] == [
        CapMeasure.END_THOUGHT,
        None,
        None,
        CapMeasure.CLOSE,
    ]


def test_without_a_budget_there_is_no_cap() -> None:
    cap = ThinkingCap(None)
    assert cap.measure(10**9) is None
    assert not cap.reached(10**9)


@pytest.mark.parametrize(
    ("budget", "tokens", "reached"), [(100, 95, False), (100, 96, True), (2, 0, False), (2, 1, True)]
)
def test_a_budget_counts_as_reached_a_little_before(budget: int, tokens: int, reached: bool) -> None:
    assert ThinkingCap(budget).reached(tokens) is reached
