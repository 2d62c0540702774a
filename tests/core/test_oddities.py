"""What servers of many versions send that no recording has, and what clients have stumbled over, as streams (L4, L5).

Rows of the tables of version differences and of issues (ggml-org/llama.cpp unless named), each with its test here or
elsewhere in this folder. Rows about requests, side endpoints, connections and slots are not of the stream.

Version differences
    thinking field               test_reasoning_may_have_its_other_name
    error in mid-stream          test_an_error_in_mid_stream_is_what_the_server_says
    context error                test_a_full_context_in_mid_stream_is_one,
                                 test_a_full_context_may_be_the_first_and_only_event
    pings                        test_pings_of_every_form_may_stand_anywhere
    id of a tool call            test_the_id_of_a_call_is_kept_in_every_form, test_an_id_may_be_missing_empty_or_late
    first arguments of a call    test_calls_of_the_builds_of_2025_come_out_like_those_of_today,
                                 test_empty_arguments_stay_empty
    content in the role chunk    test_deltas_that_say_nothing_are_passed_over
    usage                        test_the_usage_may_come_with_the_finish_reason,
                                 test_a_usage_that_never_came_is_estimated_from_pieces_and_progress
    prefill with thinking        test_reasoning_that_is_echoed_is_reasoning
    system_fingerprint           test_what_names_the_build_may_be_anything

Issues
    27217                        test_an_answer_that_ran_to_its_bound_without_a_call_has_none
    27025, 25072, llama-swap#856 test_output_that_the_server_can_not_parse_ends_any_stream,
                                 test_a_recorded_stream_comes_to_what_is_expected_however_it_is_cut
    22581, 14101, 21890          test_markup_of_calls_that_the_server_left_in_the_content_is_text
    28522                        test_mangled_arguments_stay_with_their_call, test_the_number_of_calls_is_capped
    openclaw#38569, #37658       test_output_that_the_server_can_not_parse_ends_any_stream
    oh-my-pi#1970                test_calls_may_come_mixed, test_parallel_calls_in_turns_are_told_apart_by_index
    13800                        test_calls_of_the_builds_of_2025_come_out_like_those_of_today,
                                 test_a_name_that_comes_again_is_the_same_name
    16104, 16109                 test_an_error_in_mid_stream_is_what_the_server_says
    14566                        test_an_error_may_stand_in_a_chunk_that_has_more
    14268                        test_two_events_may_come_in_one_read
    15780, hermes-agent#89502    test_a_full_context_in_mid_stream_is_one
    23652                        test_a_shared_context_that_overflows_is_no_prompt_that_is_too_long
    24013, 25241, ollama#16443   test_pings_of_every_form_may_stand_anywhere, test_comments_are_items
    28182                        test_a_closing_tag_at_the_beginning_of_the_answer_is_dropped,
                                 test_the_rest_of_a_thought_that_its_budget_cut_goes_to_reasoning,
                                 test_behind_the_tag_that_a_cut_thought_left_the_next_one_is_text
    22717, 21902                 test_a_budget_that_is_hit_at_once_or_ignored_changes_no_answer
    23320                        test_without_a_reached_budget_nothing_is_held
    1240 (openclaw-windows-node) test_the_text_of_one_completion_is_capped
"""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from service.core.call_assembly import MAX_NAME, CallAssembly
from service.core.completion_events import ContentText, ModelCall
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
    reasoning,
)

TOOL_CALLS = chunk({}, "tool_calls") + USAGE + DONE


def test_each_test_named_above_exists() -> None:
    named = set(re.findall(r"\btest_\w+", __doc__ or ""))
    written = chain.from_iterable(
        re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        for path in Path(__file__).parent.glob("test_*.py")
    )

    assert named - set(written) == set()


# Version differences.


@pytest.mark.rules("L3", "L4")
def test_a_full_context_may_be_the_first_and_only_event() -> None:
    error = {"code": 400, "type": "exceed_context_size_error", "message": "full", "n_prompt_tokens": 9, "n_ctx": 8}

    assert read_all_ways(event({"error": error})).failure == Failed(
        kind=ErrorKind.CONTEXT_FULL, message="full", tokens=(9, 8)
    )


@pytest.mark.rules("L4", "L5")
@pytest.mark.parametrize(
    "ping", [b":\n\n", b": ping\n\n", b":ping\r\n\r\n", b": ping - 2025-11-03 10:00:00\n\n", b":\n"]
)
def test_pings_of_every_form_may_stand_anywhere(ping: bytes) -> None:
    events = [
        reasoning("why"),
        content("Be"),
        content("cause."),
        calls({"index": 0, "id": "a", "function": {"name": "add", "arguments": "{}"}}),
        TOOL_CALLS,
    ]
    quiet = read_all_ways(b"".join(events))

    assert quiet.completion.content == "Because."
    assert read_all_ways(ping + ping.join(events)) == quiet


@pytest.mark.rules("L5")
@pytest.mark.parametrize("id", ["gvx52jSHLtCRjEzbhzYOKpxx4KcwMHjo", "Ab3dE6gH9", "call_1a2b", "chatcmpl-tool-1", "0"])
def test_the_id_of_a_call_is_kept_in_every_form(id: str) -> None:
    stream = calls({"index": 0, "id": id, "type": "function", "function": {"name": "now", "arguments": "{}"}})

    assert read_all_ways(stream + TOOL_CALLS).completion.calls == (ModelCall(id=id, name="now", arguments="{}"),)


@pytest.mark.rules("L5")
def test_calls_of_the_builds_of_2025_come_out_like_those_of_today() -> None:
    def piece(arguments: str, **members: Any) -> dict[str, Any]:
        return {"index": 0, "function": {"arguments": arguments, **members}}

    opening = {"id": "a", "type": "function"}
    today = calls(opening | piece("{", name="get_weather"), piece('"city": "Pa'), piece('ris"}'))
    empty_first = calls(opening | piece("", name="get_weather"), piece('{"city": "Pa'), piece('ris"}'))
    name_again = calls(
        opening | piece("{", name="get_weather"),
        {"type": "function"} | piece('"city": "Pa', name="get_weather"),
        {"type": "function"} | piece('ris"}', name="get_weather"),
    )
    name_and_id_again = calls(*(opening | piece(text, name="get_weather") for text in ("{", '"city": "Pa', 'ris"}')))

    for stream in (today, empty_first, name_again, name_and_id_again):
        assert read_all_ways(stream + TOOL_CALLS).completion.calls == (
            ModelCall(id="a", name="get_weather", arguments='{"city": "Paris"}'),
        )


@pytest.mark.rules("L5")
def test_reasoning_that_is_echoed_is_reasoning() -> None:
    done = read_all_ways(reasoning("I was ", "cut here") + reasoning(" and go on.") + content("Yes.") + END).completion

    assert (done.reasoning, done.content) == ("I was cut here and go on.", "Yes.")


@pytest.mark.rules("L5")
@pytest.mark.parametrize("fingerprint", ["b0-unknown", "b1-7e4c0a9", "", None, 7, {"build": 1}])
def test_what_names_the_build_may_be_anything(fingerprint: Any) -> None:
    stream = chunk({"content": "Hi"}, system_fingerprint=fingerprint, model=fingerprint, created=fingerprint)

    assert read_all_ways(stream + END).completion.content == "Hi"


# Issues.


@pytest.mark.rules("L5")
def test_an_answer_that_ran_to_its_bound_without_a_call_has_none() -> None:
    done = read_all_ways(content("I will", " call") + chunk({}, "length") + USAGE + DONE).completion

    assert (done.content, done.calls, done.finish_reason) == ("I will call", (), "length")


@pytest.mark.rules("L4")
@pytest.mark.parametrize(
    "said",
    [
        "The model produced output that does not match the expected peg-native format",
        "The model produced output that does not match the expected peg-gemma format",
        "Invalid diff: now finding less tool calls!",
    ],
)
@pytest.mark.parametrize(
    "shown",
    [
        b"",
        content("Let me", " see."),
        reasoning("why"),
        calls({"index": 0, "id": "a", "function": {"name": "add", "arguments": '{"x"'}}),
        calls({"index": 0, "id": "a", "function": {"name": "add", "arguments": "{}"}}),
    ],
    ids=["nothing", "text", "thought", "half a call", "a whole call"],
)
def test_output_that_the_server_can_not_parse_ends_any_stream(said: str, shown: bytes) -> None:
    error = {"code": 500, "message": said, "type": "server_error"}

    assert read_all_ways(shown + event({"error": error})).failure == Failed(
        kind=ErrorKind.UPSTREAM_ERROR, message=f"llama-server broke off: {said}", status=500
    )


@pytest.mark.rules("L5")
def test_markup_of_calls_that_the_server_left_in_the_content_is_text() -> None:
    text = '<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call>'
    done = read_all_ways(content(*re.findall(".{1,7}", text, re.DOTALL)) + END).completion
    assert (done.content, done.calls) == (text, ())

    one = calls({"index": 0, "id": "a", "function": {"name": "add", "arguments": "{}"}})
    done = read_all_ways(content("\n</tool_call>\n") + one + content(text) + TOOL_CALLS).completion
    assert done.content == "\n</tool_call>\n" + text
    assert done.calls == (ModelCall(id="a", name="add", arguments="{}"),)


@pytest.mark.rules("L5")
def test_mangled_arguments_stay_with_their_call() -> None:
    done = read_all_ways(
        calls(
            {"index": 0, "id": "a", "function": {"name": "book", "arguments": '{"from": "Paris", "to": '}},
            {"index": 0, "function": {"arguments": '{"from": "Rome"'}},
            {"index": 1, "id": "b", "function": {"name": "book", "arguments": '}, "class": null}'}},
        )
        + TOOL_CALLS
    ).completion

    assert done.calls == (
        ModelCall(id="a", name="book", arguments='{"from": "Paris", "to": {"from": "Rome"'),
        ModelCall(id="b", name="book", arguments='}, "class": null}'),
    )


@pytest.mark.rules("L5")
def test_parallel_calls_in_turns_are_told_apart_by_index() -> None:
    done = read_all_ways(
        chunk(
            {
                "tool_calls": [
                    {"index": 1, "id": "b", "function": {"name": "add", "arguments": '{"x":'}},
                    {"index": 0, "id": "a", "function": {"name": "add", "arguments": '{"x":'}},
                ]
            }
        )
        + calls({"index": 0, "function": {"arguments": "1"}}, {"index": 1, "function": {"arguments": "2"}})
        + chunk({"tool_calls": [{"index": n, "function": {"arguments": "}"}} for n in (0, 1)]})
        + TOOL_CALLS
    ).completion

    assert {call.id: call.arguments for call in done.calls} == {"a": '{"x":1}', "b": '{"x":2}'}


@pytest.mark.rules("L4")
def test_an_error_may_stand_in_a_chunk_that_has_more() -> None:
    both = chunk({"content": " more"}, "stop", error={"code": 500, "message": "no"})

    found = read_all_ways(content("Hi") + both + END)

    assert found.content == "Hi"
    assert found.failure == Failed(kind=ErrorKind.UPSTREAM_ERROR, message="llama-server broke off: no", status=500)


@pytest.mark.rules("L5")
def test_two_events_may_come_in_one_read() -> None:
    stream = CompletionStream()

    assert stream.feed(content("Be", "cause") + content(".")[:-1]) == [
        ContentText(text="Be"),
        ContentText(text="cause"),
    ]
    assert stream.feed(b"\n" + STOP + USAGE + DONE) == [ContentText(text=".")]
    assert stream.finish().content == "Because."


@pytest.mark.rules("L4")
def test_a_shared_context_that_overflows_is_no_prompt_that_is_too_long() -> None:
    error = {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}

    assert read_all_ways(content("0, 1, ") + event({"error": error})).failure.kind is ErrorKind.UPSTREAM_ERROR


@pytest.mark.rules("L5")
@pytest.mark.parametrize("pieces", [("</think>", "\n\n", "Yes."), ("\n</think>\n\nYes.",), ("<think>", "</think>Yes.")])
def test_a_budget_that_is_hit_at_once_or_ignored_changes_no_answer(pieces: tuple[str, ...]) -> None:
    for thought in (0, 1, 8, 20):
        done = read_all_ways(reasoning(*["t"] * thought) + content(*pieces) + END, budget=8).completion

        assert (done.reasoning, done.content) == ("t" * thought, "Yes.")


@pytest.mark.rules("L5")
def test_behind_the_tag_that_a_cut_thought_left_the_next_one_is_text() -> None:
    pieces = (" and", " so on", "</think>", "\n", "The tag", " </think>", " ends a thought.")

    for texts in (pieces, ("".join(pieces),), tuple("".join(pieces))):
        done = read_all_ways(reasoning(*["t"] * 8) + content(*texts) + END, budget=8).completion

        assert (done.reasoning, done.content) == ("t" * 8 + " and so on", "The tag </think> ends a thought.")


# Found by breaking streams.


@pytest.mark.rules("L5")
@pytest.mark.parametrize(
    "more", [{"delta": {"content": " late"}, "finish_reason": "length"}, "no choice", {"delta": 1}]
)
def test_what_stands_behind_the_finish_reason_in_its_own_chunk_is_no_text(more: Any) -> None:
    last = {"delta": {"content": " you"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 2}

    found = read_all_ways(content("Hi") + event({"choices": [last, more], "usage": usage}) + DONE)

    done = found.completion
    assert (done.content, done.finish_reason, done.usage.prompt_tokens) == ("Hi you", "stop", 7)


@pytest.mark.rules("L4", "L5")
def test_arguments_that_can_be_read_but_not_written_are_a_protocol_failure() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}

    with pytest.raises(ModelFailure, match="arguments nested too deeply") as caught:
        CallAssembly().feed([{"index": 0, "function": {"name": "add", "arguments": deep}}])
    assert caught.value.kind is ErrorKind.PROTOCOL


@pytest.mark.rules("L4")
@pytest.mark.parametrize("depth", range(880, 1010, 3))
def test_a_payload_nested_to_the_limit_is_read_or_is_a_protocol_failure(depth: int) -> None:
    nested = "[" * depth + "]" * depth
    for payload in (
        f'{{"x":{nested}}}',
        f'{{"x":{nested},"choices":[{{"delta":{{"content":"\\ud83d"}}}}]}}',
        f'{{"choices":[{{"delta":{{"tool_calls":[{{"function":{{"arguments":{{"a":{nested}}}}}}}]}}}}]}}',
        f'{{"error":{nested}}}',
    ):
        stream = CompletionStream()
        stream.feed(event(payload))
        with pytest.raises(ModelFailure):
            stream.finish()


@pytest.mark.rules("L5")
def test_a_name_is_kept_up_to_a_length_that_no_tool_has() -> None:
    longest = "y" + "x" * (MAX_NAME - 1)
    for parts in ([longest + "y"], [longest, "y"], ["y"] + ["x"] * (MAX_NAME + 5), [longest + "y", longest + "y"]):
        assembly = CallAssembly()
        added = sum(assembly.feed([{"index": 0, "function": {"name": part}}]) for part in parts)

        assert assembly.calls() == (ModelCall(id=None, name=longest, arguments=""),)
        assert added == MAX_NAME


@pytest.mark.rules("L5")
def test_a_name_and_an_id_that_come_again_are_no_more_characters_and_no_more_tokens() -> None:
    again = {"index": 0, "id": "a", "function": {"name": "add"}}

    done = read_all_ways(calls(again, again, again, {"index": 0}) + chunk({}, "tool_calls") + DONE).completion

    assert done.usage.completion_tokens == 1
    assert CallAssembly().feed([again, again]) == 4


@pytest.mark.rules("L5")
@pytest.mark.parametrize(
    ("first", "then", "arguments"),
    [
        ('{"x":"}', ['"}'], ['{"x":"}"}']),
        ("{}", [" \n", "{}"], ["{} \n", "{}"]),
        ("{}x", ["{}", "{}"], ["{}x{}{}"]),
        ("{x}", ["{x}", "{}"], ["{x}{x}{}"]),
        ("[]", ["{}"], ["[]{}"]),
        ("{", ["}", '{"y":1}'], ["{}", '{"y":1}']),
    ],
)
def test_a_name_that_comes_again_begins_a_call_only_behind_a_whole_object(
    first: str, then: list[str], arguments: list[str]
) -> None:
    stream = calls(*({"index": 0, "function": {"name": "add", "arguments": text}} for text in (first, *then)))

    assert [call.arguments for call in read_all_ways(stream + TOOL_CALLS).completion.calls] == arguments


@pytest.mark.rules("L5")
@pytest.mark.parametrize(("piece", "times"), [("x}", 0), ("y", 0), ('"}', 2), ('"}x', 1), ('\\"}', 0)])
def test_arguments_with_a_name_at_every_piece_are_parsed_where_they_may_end(
    piece: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []

    def loads(text: str) -> Any:
        parsed.append(text)
        return json_loads(text)

    json_loads = json.loads
    monkeypatch.setattr(json, "loads", loads)
    assembly = CallAssembly()
    assembly.feed([{"index": 0, "function": {"name": "add", "arguments": '{"x":"'}}])
    assembly.feed([{"index": 0, "function": {"name": "add", "arguments": piece}}] * 100)

    # Each time anew, a text that is never whole would cost the square of its length.
    assert len(parsed) == times
