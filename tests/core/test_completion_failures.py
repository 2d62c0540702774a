"""What ends a stream that is no completion, and how much of it there may be (L3, L4)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.core import completion
from service.core.completion_stream import CompletionStream
from service.core.errors import ErrorKind, ModelFailure
from tests.core.completion_outcome import (
    DONE,
    END,
    STOP,
    USAGE,
    Failed,
    calls,
    chunk,
    content,
    event,
    read_all_ways,
    read_stream,
    reasoning,
)


@pytest.mark.rules("L4")
def test_an_end_without_finish_reason_is_a_closed_stream() -> None:
    for stream in (b"", content("Hi"), content("Hi") + DONE, content("Hi") + USAGE + DONE, b": ping\n\n"):
        assert read_all_ways(stream).failure == Failed(
            kind=ErrorKind.STREAM_CLOSED, message="llama-server ended the stream before the answer was complete"
        )


@pytest.mark.rules("L4")
def test_text_that_was_held_back_is_shown_when_the_stream_breaks() -> None:
    assert read_all_ways(content("<thin")).content == "<thin"
    assert read_all_ways(reasoning(*["t"] * 16) + content("held"), budget=16).content == "held"


@pytest.mark.rules("L4")
@pytest.mark.parametrize(
    "form",
    [
        'data: {"error":%s}\n\n',
        "error: %s\n\n",
        'error: {"error":%s}\n\n',
        "event: error\ndata: %s\n\n",
        'event: error\ndata: {"error":%s}\n\n',
    ],
)
def test_an_error_in_mid_stream_is_what_the_server_says(form: str) -> None:
    error = {"code": 500, "message": "Compute error.", "type": "server_error"}

    found = read_all_ways(content("Hi") + (form % json.dumps(error)).encode())

    assert found.content == "Hi"
    assert found.failure == Failed(
        kind=ErrorKind.UPSTREAM_ERROR, message="llama-server broke off: Compute error.", status=500
    )


@pytest.mark.rules("L3", "L4")
@pytest.mark.parametrize("form", ["error: %s\n\n", "data: %s\n\n"])
def test_a_full_context_in_mid_stream_is_one(form: str) -> None:
    error = {"type": "exceed_context_size_error", "message": "too long", "n_prompt_tokens": 9, "n_ctx": 8, "code": 400}

    found = read_all_ways(content("Hi") + (form % json.dumps({"error": error})).encode())

    assert found.failure == Failed(kind=ErrorKind.CONTEXT_FULL, message="too long", tokens=(9, 8))


@pytest.mark.rules("L4")
def test_an_error_line_that_is_no_json_is_shown_as_it_is() -> None:
    for line in (b"error: out of memory\n\n", b"event: error\ndata: out of memory\n\n"):
        failure = read_all_ways(content("Hi") + line).failure
        assert (failure.kind, failure.message) == (
            ErrorKind.UPSTREAM_ERROR,
            "llama-server broke off: out of memory",
        )


@pytest.mark.rules("L4")
@pytest.mark.parametrize(
    "late", [event({"error": {"message": "late"}}), b"error: late\n\n", event("{"), b":" + b"x" * 1_100_000]
)
def test_an_answer_with_its_finish_reason_is_whole_whatever_follows(late: bytes) -> None:
    done = read_stream([content("Hi") + STOP, late]).completion

    assert (done.content, done.finish_reason, done.estimated) == ("Hi", "stop", True)


@pytest.mark.rules("L4")
@pytest.mark.parametrize(
    "payload",
    [
        "{",
        "hello",
        "[]",
        "null",
        "1",
        '"text"',
        '{"choices":[{"delta":{"content":"a\tb"}}]}',
        "[" * 100_000,
        '{"a":' * 100_000,
        "1" * 5_000,
        {"choices": {"0": 1}},
        {"choices": "x"},
        {"choices": [1]},
        {"choices": [None]},
        {"choices": [{"delta": "x"}]},
        {"choices": [{"delta": ["x"]}]},
        {"choices": [{"delta": {"content": 1}}]},
        {"choices": [{"delta": {"content": ["x"]}}]},
        {"choices": [{"delta": {"content": {"text": "x"}}}]},
        {"choices": [{"delta": {"reasoning_content": 1}}]},
        {"choices": [{"delta": {"reasoning": {"effort": "low"}}}]},
        {"choices": [{"delta": {"tool_calls": {"index": 0}}}]},
        {"choices": [{"delta": {"tool_calls": [1]}}]},
        {"choices": [{"finish_reason": 1}]},
        {"choices": [{"finish_reason": ["stop"]}]},
    ],
    ids=lambda payload: str(payload)[:50],
)
def test_what_is_no_chunk_is_a_protocol_failure_and_what_came_before_it_was_shown(payload: Any) -> None:
    found = read_stream([content("Hi") + event(payload) + END])

    assert found.content == "Hi"
    assert found.failure.kind is ErrorKind.PROTOCOL
    assert read_stream([content("Hi"), event(payload), END]) == found


@pytest.mark.rules("L4")
def test_a_line_over_the_cap_is_a_protocol_failure() -> None:
    found = read_stream([content("Hi"), b"data: " + b"x" * 1_048_576])

    assert (found.content, found.failure.kind) == ("Hi", ErrorKind.PROTOCOL)


@pytest.mark.rules("L5")
@pytest.mark.parametrize(("above", "ok"), [(0, True), (1, False)])
def test_the_text_of_one_completion_is_capped(above: int, ok: bool) -> None:
    arguments = calls({"function": {"name": "n", "arguments": "x" * 9}})
    half = completion.MAX_CHARACTERS // 8 - 2
    big = [reasoning("x" * half)] * 4 + [content("y" * half)] * 4
    rest = completion.MAX_CHARACTERS - 8 * half - 10

    found = read_stream([*big, arguments, content("z" * (rest + above)), END])

    if ok:
        assert len(found.completion.content) + len(found.completion.reasoning) == completion.MAX_CHARACTERS - 10
    else:
        assert found.failure.kind is ErrorKind.PROTOCOL
        assert "more than 4194304 characters" in found.failure.message


@pytest.mark.rules("L4")
def test_tokens_and_steps_of_progress_advance_a_stream_and_nothing_else_does() -> None:
    def advances(data: bytes) -> int:
        stream = CompletionStream()
        stream.feed(event({"prompt_progress": {"total": 9, "processed": 5}}) + data)
        return stream.advances

    assert advances(b"") == 1
    for something in (
        content("x"),
        content(" "),
        reasoning("x"),
        calls({"function": {"arguments": "{"}}),
        event({"prompt_progress": {"total": 9, "processed": 6}}),
    ):
        assert advances(something) == 2
    for nothing in (
        b": ping\n\n",
        chunk({"role": "assistant", "content": None}),
        event({"prompt_progress": {"total": 9, "processed": 5}}),
        event({}),
    ):
        assert advances(nothing) == 1


@pytest.mark.rules("L4")
def test_a_stream_is_over_at_its_end_mark_and_knows_whether_there_were_events() -> None:
    stream = CompletionStream()
    stream.feed(b": ping\n\n")
    assert (stream.is_over, stream.has_events) == (False, False)
    stream.feed(content("Hi") + STOP)
    assert (stream.is_over, stream.has_events) == (False, True)
    stream.feed(DONE)
    assert stream.is_over


@pytest.mark.rules("L4")
def test_the_first_failure_of_a_stream_is_the_one_that_counts() -> None:
    stream = CompletionStream()
    stream.feed(event("{"))
    stream.fail(ModelFailure(ErrorKind.STALLED, "later"))

    with pytest.raises(ModelFailure, match="no JSON"):
        stream.finish()


@pytest.mark.rules("L4")
def test_a_failure_of_the_network_ends_a_stream_unless_the_answer_is_whole() -> None:
    lost = ModelFailure(ErrorKind.STREAM_CLOSED, "lost")
    begun, whole = CompletionStream(), CompletionStream()
    begun.feed(content("Hi"))
    whole.feed(content("Hi") + STOP)
    begun.fail(lost)
    whole.fail(lost)

    assert begun.is_over
    assert whole.is_over
    assert whole.finish().content == "Hi"
    with pytest.raises(ModelFailure, match="lost"):
        begun.finish()
