"""Tokens, times and progress of a completion, told by the server in several forms or not at all (L4, L5)."""

from __future__ import annotations

from typing import Any

import pytest

from service.core.completion_events import CompletionUsage, PromptProgress
from service.core.usage import Timings
from tests.core.completion_outcome import (
    DONE,
    END,
    STOP,
    calls,
    chunk,
    content,
    event,
    read_all_ways,
    reasoning,
)


@pytest.mark.rules("L5")
def test_the_usage_may_come_with_the_finish_reason() -> None:
    usage = {
        "prompt_tokens": 20,
        "completion_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 15},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }

    done = read_all_ways(reasoning("why") + content("Hi") + chunk({}, "stop", usage=usage) + DONE).completion

    assert done.usage == CompletionUsage(prompt_tokens=20, cached_tokens=15, completion_tokens=9, reasoning_tokens=4)
    assert not done.estimated


TIMINGS = {
    "cache_n": 6,
    "prompt_n": 4,
    "predicted_n": 7,
    "prompt_ms": 12,
    "predicted_ms": 34.5,
    "prompt_per_second": 333.3,
    "predicted_per_second": 202.9,
}


@pytest.mark.rules("L5")
def test_timings_of_the_end_stand_in_for_a_missing_usage() -> None:
    done = read_all_ways(content("Hi") + chunk({}, "stop", timings=TIMINGS) + DONE).completion

    assert done.usage == CompletionUsage(prompt_tokens=10, cached_tokens=6, completion_tokens=7, reasoning_tokens=0)
    assert done.timings == Timings(
        prompt_ms=12.0, predicted_ms=34.5, prompt_per_second=333.3, predicted_per_second=202.9
    )
    assert not done.estimated


@pytest.mark.rules("L5")
def test_a_usage_wins_over_timings() -> None:
    usage = {"prompt_tokens": 20, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 15}}

    last = event({"choices": [], "usage": usage, "timings": TIMINGS})
    done = read_all_ways(content("Hi") + STOP + last + DONE).completion

    assert done.usage == CompletionUsage(prompt_tokens=20, cached_tokens=15, completion_tokens=9, reasoning_tokens=0)


@pytest.mark.rules("L5")
def test_a_usage_without_cached_tokens_takes_them_from_the_timings() -> None:
    last = event({"usage": {"prompt_tokens": 20, "completion_tokens": 9}, "timings": TIMINGS})

    assert read_all_ways(content("Hi") + STOP + last + DONE).completion.usage.cached_tokens == 6


@pytest.mark.rules("L4")
def test_timings_before_the_end_are_not_those_of_the_whole() -> None:
    done = read_all_ways(chunk({"content": "Hi"}, timings=TIMINGS) + STOP + DONE, prompt_estimate=50).completion

    assert done.timings == Timings()
    assert done.usage == CompletionUsage(prompt_tokens=50, cached_tokens=0, completion_tokens=1, reasoning_tokens=0)
    assert done.estimated


@pytest.mark.rules("L4")
def test_a_usage_that_never_came_is_estimated_from_pieces_and_progress() -> None:
    progress = event({"choices": [], "prompt_progress": {"total": 30, "cache": 20, "processed": 30, "time_ms": 5}})
    pieces = reasoning("a", "b") + content("c") + calls({"function": {"name": "now"}})

    done = read_all_ways(progress + pieces + STOP, prompt_estimate=50).completion

    assert done.usage == CompletionUsage(prompt_tokens=30, cached_tokens=20, completion_tokens=4, reasoning_tokens=2)
    assert done.estimated


@pytest.mark.rules("L5")
@pytest.mark.parametrize("absurd", [-1, 10**30, 1.5, "7", True, None, [], {}, float("nan"), float("inf")], ids=repr)
def test_counts_that_are_none_are_not_taken(absurd: Any) -> None:
    usage = {"prompt_tokens": absurd, "completion_tokens": absurd, "prompt_tokens_details": {"cached_tokens": absurd}}
    timings = dict.fromkeys(TIMINGS, -1 if absurd == 1.5 or absurd == 10**30 else absurd)
    progress = dict.fromkeys(("total", "cache", "processed", "time_ms"), absurd)
    stream = event({"prompt_progress": progress}) + content("Hi") + STOP + event({"usage": usage, "timings": timings})

    found = read_all_ways(stream + DONE, prompt_estimate=50)

    assert found.progress == ()
    assert found.completion.timings == Timings()
    assert found.completion.usage == CompletionUsage(
        prompt_tokens=50, cached_tokens=0, completion_tokens=1, reasoning_tokens=0
    )
    assert found.completion.estimated


@pytest.mark.rules("L5")
@pytest.mark.parametrize("broken", ["usage", "timings", "prompt_progress"])
@pytest.mark.parametrize("value", ["x", 1, [1], True])
def test_reports_of_another_shape_are_passed_over(broken: str, value: Any) -> None:
    assert read_all_ways(content("Hi") + STOP + event({broken: value}) + DONE, prompt_estimate=1).completion.estimated


@pytest.mark.rules("L5")
def test_more_cached_or_reasoning_tokens_than_there_are_is_not_believed() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 9}}

    done = read_all_ways(reasoning("a", "b", "c") + content("d") + chunk({}, "stop", usage=usage) + DONE).completion

    assert (done.usage.cached_tokens, done.usage.reasoning_tokens) == (5, 2)


@pytest.mark.rules("L1", "L5")
def test_progress_is_shown_as_it_comes() -> None:
    def told(**members: Any) -> bytes:
        return chunk({"role": "assistant", "content": None}, prompt_progress=members)

    found = read_all_ways(
        told(total=30, cache=9, processed=9, time_ms=0)
        + told(total=30, cache=50, processed=30, time_ms=7.9)
        + told(total=30, processed=30)
        + content("Hi")
        + END
    )

    assert found.progress == (
        PromptProgress(processed=9, cached=9, total=30, time_ms=0),
        PromptProgress(processed=30, cached=30, total=30, time_ms=7),
        PromptProgress(processed=30, cached=0, total=30, time_ms=0),
    )
