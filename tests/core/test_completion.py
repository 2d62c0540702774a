"""One completion from its chunks, in the forms that llama-server's versions send (L5)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.core.completion import CompletionAssembly
from service.core.completion_events import Begun, CompletionUsage, ContentText, ModelCall
from service.core.completion_stream import CompletionStream
from tests.core.completion_outcome import (
    DONE,
    END,
    STOP,
    USAGE,
    calls,
    chunk,
    content,
    event,
    read_all_ways,
    reasoning,
)


@pytest.mark.rules("L5")
def test_content_and_reasoning_are_put_together() -> None:
    done = read_all_ways(reasoning("why", " not") + content("Be", "cause.") + END).completion

    assert (done.reasoning, done.content, done.finish_reason) == ("why not", "Because.", "stop")
    assert done.usage == CompletionUsage(prompt_tokens=10, cached_tokens=0, completion_tokens=5, reasoning_tokens=2)
    assert not done.estimated


@pytest.mark.rules("L5")
def test_reasoning_may_have_its_other_name() -> None:
    both = chunk({"reasoning_content": "b", "reasoning": "b"})

    assert read_all_ways(chunk({"reasoning": "a"}) + both + content("x") + END).completion.reasoning == "ab"


@pytest.mark.rules("L5")
@pytest.mark.parametrize(
    "delta",
    [
        None,
        {},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": ""},
        {"content": None, "reasoning_content": None, "reasoning": "", "tool_calls": None},
        {"tool_calls": []},
        {"refusal": None, "audio": {"x": 1}},
    ],
)
def test_deltas_that_say_nothing_are_passed_over(delta: Any) -> None:
    role = event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})

    assert read_all_ways(role + content("Hi") + role + END).completion.content == "Hi"


@pytest.mark.rules("L5")
@pytest.mark.parametrize(
    "payload",
    [
        "",
        "  ",
        {},
        {"choices": []},
        {"choices": None},
        {"object": "ping"},
        {"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "stop"}]},
        {"choices": [{"index": 0}]},
        {"error": None, "choices": []},
        {"usage": None, "timings": None, "prompt_progress": None},
    ],
)
def test_chunks_without_our_choice_are_passed_over(payload: Any) -> None:
    assert read_all_ways(event(payload) + content("Hi") + event(payload) + END).completion.content == "Hi"


@pytest.mark.rules("L5")
def test_a_choice_without_index_is_ours() -> None:
    assert (
        read_all_ways(event({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}) + DONE).content
        == "Hi"
    )


@pytest.mark.rules("L5")
def test_what_comes_behind_the_finish_reason_is_no_text() -> None:
    late = content(" late") + reasoning("late") + chunk({}, "length")

    done = read_all_ways(content("Hi") + STOP + late + USAGE + DONE).completion

    assert (done.content, done.reasoning, done.finish_reason) == ("Hi", "", "stop")


@pytest.mark.rules("L5")
@pytest.mark.parametrize(("reason", "kept"), [("eos", "eos"), ("tool_calls", "tool_calls"), ("x" * 100, "x" * 64)])
def test_any_finish_reason_is_kept(reason: str, kept: str) -> None:
    assert read_all_ways(content("Hi") + chunk({}, reason) + DONE).completion.finish_reason == kept


@pytest.mark.rules("L5")
def test_calls_are_assembled_and_are_no_deltas() -> None:
    stream = calls(
        {"index": 0, "id": "a", "function": {"name": "add", "arguments": ""}},
        {"index": 0, "function": {"name": "add", "arguments": "{}"}},
        {"index": 1, "function": {"name": "now"}},
    )

    found = read_all_ways(stream + chunk({}, "tool_calls") + DONE)

    assert (found.content, found.reasoning, found.progress) == ("", "", ())
    assert found.completion.calls == (
        ModelCall(id="a", name="add", arguments="{}"),
        ModelCall(id=None, name="now", arguments=""),
    )


@pytest.mark.rules("L5")
def test_tags_before_the_answer_are_obeyed_over_several_chunks() -> None:
    done = read_all_ways(content("<th", "ink>", "a ", "thought</", "think>", "\n\nHi", " <think>") + END).completion

    assert (done.reasoning, done.content) == ("a thought", "Hi <think>")
    assert done.usage.reasoning_tokens == 2


@pytest.mark.rules("L5")
def test_a_closing_tag_at_the_beginning_of_the_answer_is_dropped() -> None:
    done = read_all_ways(reasoning("why") + content("\n</", "think", ">", "\nHi </think>") + END).completion

    assert (done.reasoning, done.content) == ("why", "Hi </think>")


@pytest.mark.rules("L5")
def test_a_held_beginning_of_a_tag_comes_with_the_finish_reason() -> None:
    assert read_all_ways(content("<thin") + END).completion.content == "<thin"

    stream = CompletionStream()
    assert stream.feed(content("<thin")) == []
    assert stream.feed(STOP) == [ContentText(text="<thin")]


LEAK = content(" and", " so on", "</think>", "Yes.")


@pytest.mark.rules("L5")
@pytest.mark.parametrize(
    ("budget", "deltas", "leaks"),
    [
        # A budget of n tokens gives n - 2 deltas; up to four fewer, or an eighth, still count as reached.
        (16, 16, False),
        (16, 14, False),
        (16, 12, False),
        (16, 11, True),
        (64, 56, False),
        (64, 55, True),
        (2, 1, False),
        (2, 0, True),
        (0, 0, True),
        (None, 64, True),
    ],
)
def test_the_rest_of_a_thought_that_its_budget_cut_goes_to_reasoning(
    budget: int | None, deltas: int, leaks: bool
) -> None:
    done = read_all_ways(reasoning(*["t"] * deltas) + LEAK + END, budget=budget).completion

    if leaks:
        assert (done.reasoning, done.content) == ("t" * deltas, " and so on</think>Yes.")
    else:
        assert (done.reasoning, done.content) == ("t" * deltas + " and so on", "Yes.")


@pytest.mark.rules("L5")
def test_content_in_tags_counts_against_the_budget_as_well() -> None:
    stream = content("<think>", *["t"] * 16, "</think>", "rest", "</think>", "Yes.") + END

    done = read_all_ways(stream, budget=16).completion

    assert (done.reasoning, done.content) == ("t" * 16 + "rest", "Yes.")


@pytest.mark.rules("L5")
def test_half_a_surrogate_pair_is_replaced_wherever_it_stands() -> None:
    def raw(delta: str) -> bytes:
        return event(f'{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}')

    stream = (
        raw('{"content":"a\\ud83d"}')
        + raw('{"reasoning_content":"\\uDE00"}')
        + raw('{"content":"\\ud83d\\ude00\\ud55c"}')
        + raw('{"tool_calls":[{"id":"\\ud83d","function":{"name":"\\ud83d","arguments":"\\ud83d"}}]}')
    )

    done = read_all_ways(stream + END).completion

    assert (done.content, done.reasoning) == ("a\ufffd😀\ud55c", "\ufffd")
    assert done.calls == (ModelCall(id="\ufffd", name="\ufffd", arguments="\ufffd"),)


@pytest.mark.rules("L5")
@pytest.mark.parametrize("text", ["\u2028\u2029\u0085", "\x00", "a\r\nb", '{"x":"\\u0000"}', "\ufeff"])
def test_nasty_characters_arrive_as_they_were_sent(text: str) -> None:
    assert read_all_ways(content(text) + END).completion.content == text


@pytest.mark.rules("L6")
def test_the_completions_id_is_told_once_as_soon_as_a_chunk_carries_it() -> None:
    assembly = CompletionAssembly()
    pieces: list[dict[str, object]] = [
        {"choices": []},
        {"id": "", "choices": []},
        {"id": 5},
        {"id": "x" * 257},
        {"id": "a"},
        {"id": "a"},
    ]
    assert [assembly.feed(json.dumps(piece)) for piece in pieces] == [[], [], [], [], [Begun(completion_id="a")], []]
