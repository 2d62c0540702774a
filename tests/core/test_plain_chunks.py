"""The chunks that nearly every token comes in take a shorter way, and are read as all others are."""

from __future__ import annotations

from typing import Any

import pytest

from service.core import completion
from service.core.completion_events import CompletionDelta, ContentText, ReasoningText
from service.core.completion_stream import CompletionStream
from service.core.errors import ErrorKind, ModelFailure
from service.core.plain_chunk import NOT_PLAIN, read_plain
from service.core.text_pieces import PIECES_TO_JOIN
from tests.core.completion_outcome import event

pytestmark = pytest.mark.rules("L4", "L5")

OTHERS = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "system_fingerprint": "b1"}


def chunk(*, index: int = 0, finish_reason: str | None = None, **delta: Any) -> bytes:
    choice = {"index": index, "delta": delta, "finish_reason": finish_reason}
    return event({"choices": [choice], **OTHERS})


def begun() -> CompletionStream:
    """A stream whose answer has begun, so that its pieces take the short way."""
    stream = CompletionStream()
    stream.feed(chunk(content="So "))
    return stream


def deltas_of(stream: CompletionStream, *chunks: bytes) -> list[CompletionDelta]:
    return [delta for one in chunks for delta in stream.feed(one)]


def test_what_llama_server_sends_for_a_token_is_plain() -> None:
    payload = chunk(content="word").removeprefix(b"data: ").strip()

    assert read_plain(payload).choices[0].delta.content == "word"
    with pytest.raises(NOT_PLAIN):
        read_plain(payload.replace(b'"created"', b'"usage"'))


def test_pieces_of_answer_and_thought_are_given_as_they_come() -> None:
    stream = begun()

    deltas = deltas_of(stream, chunk(reasoning_content="Hm."), chunk(content="it ") + chunk(content="is"))

    assert deltas == [ReasoningText("Hm."), ContentText("it "), ContentText("is")]
    assert stream.advances == 4


def test_a_piece_of_both_is_thought_first() -> None:
    assert deltas_of(begun(), chunk(content="4", reasoning_content="2 + 2")) == [
        ReasoningText("2 + 2"),
        ContentText("4"),
    ]


def test_a_second_answer_is_not_mixed_into_the_first() -> None:
    assert deltas_of(begun(), chunk(index=1, content="other"), chunk(content="it")) == [ContentText("it")]


def test_bytes_that_are_no_utf_8_cost_no_more_than_their_character() -> None:
    broken = chunk(content="caf? is").replace(b"?", b"\xe9")

    assert deltas_of(begun(), broken) == [ContentText("caf\ufffd is")]


def test_what_comes_behind_the_finish_reason_is_no_text() -> None:
    stream = begun()

    assert deltas_of(stream, chunk(finish_reason="stop"), chunk(content="more")) == []
    assert stream.finish().content == "So "


def test_a_long_answer_is_whole_however_many_pieces_it_has() -> None:
    stream, pieces = begun(), [f"{number} " for number in range(2 * PIECES_TO_JOIN + 7)]

    for piece in pieces:
        stream.feed(chunk(content=piece))
    stream.feed(chunk(finish_reason="stop"))

    assert stream.finish().content == "So " + "".join(pieces)


def test_the_text_of_one_completion_is_capped_on_the_short_way_too() -> None:
    stream, half = begun(), "x" * (completion.MAX_CHARACTERS // 8)

    for _ in range(8):
        stream.feed(chunk(content=half))

    assert stream.is_over
    with pytest.raises(ModelFailure, match="more than 4194304 characters") as caught:
        stream.finish()
    assert caught.value.kind is ErrorKind.PROTOCOL
