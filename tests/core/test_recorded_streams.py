"""The recorded streams of a real llama-server, replayed, cut, and broken at random (L4, L5)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.core.completion_events import Completion
from service.core.errors import ErrorKind
from tests.core.completion_outcome import Failed, Outcome, event, read_stream
from tests.core.stream_cuts import same_for_all_cuts
from tests.recordings.exchanges import names, recorded
from tests.recordings.expected import EXPECTED, PROGRESS, SILENT, Broken

STREAMS = {name: exchange.body for name in names() if (exchange := recorded(name)).streams}
# What a server sends most of the time: these are cut at each of their bytes.
COMMON = ("plain", "think_tags_in_content", "tool_call_truncated_by_length", "midstream_error_parse")
SHORT = sorted(name for name, body in STREAMS.items() if 0 < len(body) < 5_000)


def test_each_recorded_stream_has_its_expectation() -> None:
    assert sorted(STREAMS) == sorted([*EXPECTED, SILENT])


@pytest.mark.rules("L4", "L5")
@pytest.mark.parametrize("name", EXPECTED)
def test_a_recorded_stream_comes_to_what_is_expected_however_it_is_cut(name: str) -> None:
    expected = EXPECTED[name]

    found = same_for_all_cuts(read_stream, STREAMS[name], everywhere=name in COMMON)

    assert found.progress == PROGRESS.get(name, ())
    assert (found.content, found.reasoning) == (expected.content, expected.reasoning)
    if isinstance(expected, Broken):
        assert found.failure.kind is expected.kind
        assert expected.says in found.failure.message
    else:
        assert found.completion == expected
        assert read_stream([STREAMS[name], b"data: and more\n\n"]) == found


@pytest.mark.rules("L4")
def test_a_stream_that_falls_silent_is_not_over_and_has_shown_its_text() -> None:
    found = same_for_all_cuts(read_stream, STREAMS[SILENT])

    assert len(found.content) == 1708
    assert found.failure.kind is ErrorKind.STREAM_CLOSED


@pytest.mark.rules("L5")
def test_the_budget_of_a_recorded_request_changes_nothing_in_a_clean_answer() -> None:
    for name in ("reasoning_then_content", "reasoning_then_json", "reasoning_then_tool_call"):
        assert read_stream([STREAMS[name]], budget=8).end == EXPECTED[name]


@st.composite
def broken_streams(draw: st.DrawFn) -> list[bytes]:
    """A recorded stream with some of its bytes lost, doubled, changed or added, in pieces."""
    data = STREAMS[draw(st.sampled_from(SHORT))]
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        noise = draw(st.sampled_from([b"", data[start:end] * 2, b"\n\n", b"\r", b"null", b"{", b'"', b"[DONE]"]))
        data = data[:start] + noise + draw(st.binary(max_size=3)) + data[end:]
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=5)))
    places = [0, *cuts, len(data)]
    return [data[a:b] for a, b in pairwise(places)]


def check(pieces: list[bytes]) -> Outcome:
    """Read a stream that may be anything: it is a completion or a typed failure, and the cuts don't matter."""
    found = read_stream(pieces, budget=8)
    assert isinstance(found.end, Completion | Failed)
    assert read_stream([b"".join(pieces)], budget=8) == found
    (found.content + found.reasoning).encode()
    return found


@pytest.mark.rules("L4", "L5")
@settings(deadline=None, max_examples=200)
@given(broken_streams())
def test_a_broken_stream_is_a_completion_or_a_typed_failure(pieces: list[bytes]) -> None:
    check(pieces)


MEMBERS = st.sampled_from(
    [
        "choices", "delta", "index", "finish_reason", "content", "reasoning", "reasoning_content", "tool_calls",
        "function", "name", "arguments", "id", "usage", "timings", "prompt_progress", "prompt_tokens",
        "completion_tokens", "prompt_tokens_details", "cached_tokens", "total", "processed", "cache", "time_ms",
        "prompt_n", "prompt_ms", "error", "message", "type", "code",
    ]
)  # fmt: skip
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["<think>", "</think>", "stop", "exceed_context_size_error", 0, 1])
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=4),
    max_leaves=12,
)
DELTAS = st.dictionaries(MEMBERS, VALUES, max_size=3)
CHOICES = st.lists(st.fixed_dictionaries({"delta": DELTAS, "finish_reason": LEAVES}), max_size=2)
CHUNKS = VALUES | st.dictionaries(MEMBERS, VALUES, max_size=4) | st.fixed_dictionaries({"choices": CHOICES})


@pytest.mark.rules("L4", "L5")
@settings(deadline=None, max_examples=200)
@given(st.lists(CHUNKS, max_size=6))
def test_chunks_of_any_shape_are_a_completion_or_a_typed_failure(chunks: list[object]) -> None:
    check([event(chunk) if not isinstance(chunk, str) else b"data: " + chunk.encode() + b"\n\n" for chunk in chunks])
