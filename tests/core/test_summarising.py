"""What is asked of the model when it summarises, and with which labels the answer is kept (C1, X6)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.core.baseline import Baseline, TemplateProfile, Thinking
from service.core.compaction import Room, Scale
from service.core.labels import DataClass
from service.core.records import SessionCreated, Summary, ToolChoice
from service.core.summarising import is_beyond, labels_of, piece_bytes, summary_request
from service.core.summary_text import stored_text, with_summary
from tests.core.test_compaction import batch, user

pytestmark = pytest.mark.rules("C1")

ROOM = Room(context_tokens=2048, compact_at=0.8, compact_messages=0, min_room=256)
PROFILE = TemplateProfile(hash="h", tools=True, parallel=True)


def test_a_request_has_instructions_the_earlier_summary_and_the_part_in_one_message() -> None:
    request = summary_request(Baseline(model="m"), "User: Hi", earlier="It began.", fence=None, room=ROOM)
    (message,) = request.messages
    assert message["role"] == "user"
    places = [message["content"].index(text) for text in ("Summarise it", "153 words", "It began.", "User: Hi")]
    assert places == sorted(places)
    assert (request.max_tokens, request.model, request.tools) == (256, "m", ())
    assert request.tool_choice is ToolChoice.NONE


def test_without_an_earlier_summary_none_is_spoken_of_and_an_untrusted_one_has_its_fences() -> None:
    first = summary_request(Baseline(), "User: Hi", earlier="", fence=None, room=ROOM).messages[0]["content"]
    assert "summary of what came before" not in first
    later = summary_request(Baseline(), "User: Hi", earlier="It.", fence="f" * 16, room=ROOM).messages[0]["content"]
    assert f"<untrusted {'f' * 16}>\nIt.\n</untrusted {'f' * 16}>" in later


@pytest.mark.parametrize(
    ("thinking", "template", "budget"),
    [
        (Thinking.ON, PROFILE, 16),
        (Thinking.ON, replace(PROFILE, thinking_off="tail"), None),
        (Thinking.OFF, PROFILE, None),
        (Thinking.ON, None, None),
    ],
)
def test_no_thought_is_spent_on_a_summary_or_as_little_as_may_be(
    thinking: Thinking, template: TemplateProfile | None, budget: int | None
) -> None:
    request = summary_request(Baseline(thinking=thinking, template=template), "x", earlier="", fence=None, room=ROOM)
    assert request.thinking_budget_tokens == budget
    assert request.thinking is (Thinking.OFF if budget is None else Thinking.ON)


@pytest.mark.rules("L1")
@pytest.mark.parametrize("template", [None, PROFILE, replace(PROFILE, parallel=False)])
def test_a_request_says_of_parallel_calls_what_the_template_can(template: TemplateProfile | None) -> None:
    request = summary_request(Baseline(template=template), "x", earlier="", fence=None, room=ROOM)
    assert request.parallel_tool_calls is (template is PROFILE)


def test_of_the_sessions_sampling_only_the_seed_is_taken() -> None:
    sampling = {"temperature": 2, "stop": ["."], "seed": 7}
    asked = [
        summary_request(Baseline(sampling=given), "x", earlier="", fence=None, room=ROOM).sampling
        for given in (sampling, {})
    ]
    assert asked == [{"temperature": 0.3, "seed": 7}, {"temperature": 0.3}]


def test_a_piece_leaves_room_for_all_that_stands_beside_it() -> None:
    scale = Scale()
    size = piece_bytes(ROOM, scale, "")
    request = summary_request(Baseline(), "x" * size, earlier="y" * 700, fence=None, room=ROOM)
    assert len(request.messages[0]["content"]) / 3 + request.max_tokens <= ROOM.context_tokens
    assert piece_bytes(ROOM, scale, "y" * 3000) < size
    assert piece_bytes(ROOM, Scale(tokens_per_byte=0.5), "") < size
    assert piece_bytes(ROOM, Scale(tokens_per_byte=0.01), "") > size
    assert piece_bytes(replace(ROOM, context_tokens=100), Scale(tokens_per_byte=50), "") == 256


@pytest.mark.parametrize(("tokens", "beyond"), [(0, False), (1, False), (256, False), (257, True), (9000, True)])
def test_a_summary_of_more_than_twice_its_tokens_is_of_a_server_that_bounds_nothing(tokens: int, beyond: bool) -> None:
    room = replace(ROOM, context_tokens=1024)

    assert room.summary_tokens == 128
    assert is_beyond(tokens, room) is beyond


@pytest.mark.rules("X6")
def test_the_labels_are_the_highest_of_beginning_earlier_summary_and_results() -> None:
    plain = batch(3, "a", "one")
    secret = replace(plain, results=(replace(plain.results[0], data_class=DataClass.SECRET, untrusted=True),))
    earlier = Summary(covers=2, text="s", tokens_before=1, tokens_after=1, data_class=DataClass.INTERNAL)
    child = SessionCreated(agent=None, baseline=Baseline(), data_class=DataClass.INTERNAL, untrusted=True)

    assert labels_of((user(2, "a"), plain), None, begun_with=None) == (DataClass.PUBLIC, False)
    assert labels_of((plain,), earlier, begun_with=None) == (DataClass.INTERNAL, False)
    assert labels_of((secret,), earlier, begun_with=None) == (DataClass.SECRET, True)
    assert labels_of((plain,), None, begun_with=child) == (DataClass.INTERNAL, True)


@pytest.mark.parametrize(("context", "quoted"), [(100_000, 400), (2000, 400), (500, 100)])
def test_what_is_kept_begins_with_the_first_message_word_by_word(context: int, quoted: int) -> None:
    text = stored_text("a" * 1000, " It went on. ", context_tokens=context)
    assert text == f"The conversation began with: {'a' * quoted}…\n\nIt went on."
    assert stored_text("Hi", "x", context_tokens=context) == "The conversation began with: Hi\n\nx"


def test_a_summary_stands_above_the_message_and_nothing_does_where_there_is_none() -> None:
    assert with_summary("", None, "Hi") == "Hi"
    assert with_summary("", None, None) == ""
    assert with_summary("S", None, None) == "Summary of the conversation so far:\nS"
    shown = with_summary("S", "f", "Hi")
    assert shown == (
        "Summary of the conversation so far:\n<untrusted f>\nS\n</untrusted f>\n\n"
        "The conversation goes on with this message:\n\nHi"
    )
