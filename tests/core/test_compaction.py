"""When a prompt is due, where it may be cut, and what is shortened when nothing can be summarised (C1)."""

from __future__ import annotations

import pytest

from service.core.compaction import (
    Cut,
    Cuttable,
    Need,
    Room,
    Scale,
    is_fruitful,
    message_bytes,
    scale_of,
    to_shorten,
)
from service.core.ids import TurnId
from service.core.projection import Block
from service.core.records import Assistant, ResultStatus, ToolCall, ToolResult

pytestmark = pytest.mark.rules("C1")

ONE = Scale(tokens_per_byte=1.0)
EMPTY = message_bytes([{"content": ""}])


def room(**other: float) -> Room:
    fields = {"context_tokens": 1000, "compact_at": 0.8, "compact_messages": 0, "min_room": 100}
    return Room(**{**fields, **other})  # pyright: ignore[reportArgumentType]


def user(seq: int, turn: str, text: str = "x" * 100) -> Block:
    message = {"role": "user", "content": text}
    return Block(turn=TurnId(turn), first_seq=seq, last_seq=seq, messages=(message,), question=text)


def answer(seq: int, turn: str) -> Block:
    message = {"role": "assistant", "content": "y" * 100}
    return Block(turn=TurnId(turn), first_seq=seq, last_seq=seq, messages=(message,))


def batch(seq: int, turn: str, *results: str) -> Block:
    calls = tuple(
        ToolCall(call=seq * 10 + n, tool_call_id=f"c{n}", model_call_id=None, name="t", arguments="{}")
        for n in range(len(results))
    )
    said = Assistant(step=1, content="", reasoning="", tool_calls=calls, finish_reason="tool_calls")
    ended = tuple(
        ToolResult(call=call.call, tool_call_id=call.tool_call_id, name="t", status=ResultStatus.OK, content=text)
        for call, text in zip(calls, results, strict=True)
    )
    messages = ({"role": "assistant", "content": ""}, *({"role": "tool", "content": text} for text in results))
    return Block(
        turn=TurnId(turn), first_seq=seq, last_seq=seq + len(results), messages=messages, batch=said, results=ended
    )


def cuttable(*blocks: Block, in_turn: bool = False, covered_seq: int = 0, last_seq: int = 99) -> Cuttable:
    return Cuttable(blocks=blocks, covered_seq=covered_seq, last_seq=last_seq, in_turn=in_turn, scale=ONE)


def cut(prompt: Cuttable, keep_tokens: int, keep_messages: int | None = None) -> Cut:
    found = prompt.cut(keep_tokens, keep_messages)
    assert found is not None
    return found


TALK = (user(2, "a"), answer(3, "a"), user(6, "b"), answer(7, "b"), user(10, "c"), answer(11, "c"))
TURN = 2 * (100 + EMPTY)


@pytest.mark.parametrize(
    ("tokens", "need"), [(800, Need.NONE), (801, Need.WANTED), (900, Need.WANTED), (901, Need.MUST)]
)
def test_a_prompt_is_due_beyond_its_share_and_must_shrink_when_an_answer_has_no_room(tokens: int, need: Need) -> None:
    assert room().need(tokens, 5) is need


@pytest.mark.parametrize(("messages", "need"), [(6, Need.NONE), (7, Need.WANTED)])
def test_messages_are_counted_only_where_a_bound_is_set(messages: int, need: Need) -> None:
    assert room(compact_messages=6).need(10, messages) is need
    assert room().need(10, 10_000) is Need.NONE
    assert (room(compact_messages=7).kept_messages, room().kept_messages) == (3, None)


@pytest.mark.rules("C0")
def test_less_than_the_least_room_is_due_also_below_the_share() -> None:
    assert room(min_room=400).threshold == 600
    assert room(min_room=400).need(601, 1) is Need.MUST


@pytest.mark.parametrize(("context", "tokens"), [(4, 1), (2048, 256), (8192, 1024), (100_000, 1024)])
def test_a_summary_has_an_eighth_of_the_context_and_at_most_1024_tokens(context: int, tokens: int) -> None:
    assert room(context_tokens=context).summary_tokens == tokens


def test_half_of_the_context_is_kept_and_less_where_the_head_is_large() -> None:
    assert room().kept_tokens(10) == 500
    assert room().kept_tokens(300) == 800 - 300 - 125 - 100
    assert room().kept_tokens(900) == 0


def test_the_scale_comes_from_what_the_server_counted_and_has_a_default() -> None:
    messages = [{"content": "x" * 84}, {"content": "", "reasoning_content": "y" * 84}]
    assert scale_of(150, messages, tool_tokens=50).tokens(messages) == 100
    assert scale_of(50, messages, tool_tokens=50) == scale_of(100, [], tool_tokens=0) == Scale()


def test_calls_count_with_their_names_and_arguments() -> None:
    call = {"function": {"name": "abc", "arguments": "{}"}}
    assert message_bytes([{"content": "é", "tool_calls": [call]}]) == EMPTY + 2 + 5


def test_as_many_of_the_last_turns_are_kept_as_fit() -> None:
    assert cut(cuttable(*TALK), 2 * TURN) == Cut(covers=5, covered=TALK[:2], kept=TALK[2:])
    assert cut(cuttable(*TALK), 2 * TURN - 1) == Cut(covers=9, covered=TALK[:4], kept=TALK[4:])


def test_nothing_is_cut_where_everything_fits_or_nothing_is_there() -> None:
    assert cuttable(*TALK).cut(3 * TURN) is None
    assert cuttable().cut(0) is None


def test_between_turns_all_may_be_covered_up_to_the_last_record() -> None:
    assert cut(cuttable(*TALK, last_seq=12), 0) == Cut(covers=12, covered=TALK, kept=())


def test_so_many_messages_are_kept_as_are_allowed() -> None:
    assert cut(cuttable(*TALK), 10_000, 3).kept == TALK[4:]


def test_what_a_summary_covers_already_is_no_place_for_another() -> None:
    opening = user(2, "a")
    assert cuttable(opening, answer(5, "a"), covered_seq=5).cut(0) is None
    pending = Block(turn=None, first_seq=9, last_seq=9, messages=({"role": "user", "content": "s"},))
    assert cuttable(pending, covered_seq=9).cut(0) is None


@pytest.mark.cases(23)
def test_within_the_running_turn_whole_batches_are_covered_and_its_message_stays() -> None:
    running = (user(2, "a"), batch(3, "a", "r" * 100), batch(5, "a", "r" * 100), batch(7, "a", "r" * 100))
    prompt = cuttable(*running, in_turn=True)
    last = message_bytes(running[-1].messages)
    question = 100 + EMPTY

    assert cut(prompt, last + question) == Cut(covers=6, covered=running[:3], kept=running[3:])
    assert cut(prompt, last + question - 1) == Cut(covers=8, covered=running, kept=())
    assert prompt.most_gain(cut(prompt, 0)) == 3 * last


def test_the_message_that_has_just_come_is_kept_in_any_case() -> None:
    prompt = cuttable(*TALK[:4], user(10, "c", "z" * 5000), in_turn=True)
    found = cut(prompt, 100)
    assert (found.covers, len(found.kept)) == (9, 1)
    assert prompt.most_gain(found) == 2 * TURN
    assert cuttable(user(2, "a"), in_turn=True).cut(0) is None


def test_finished_turns_are_not_cut_within() -> None:
    blocks = (user(2, "a"), batch(3, "a", "r" * 500), answer(5, "a"), user(8, "b"), batch(9, "b", "r"))
    assert cut(cuttable(*blocks, in_turn=True), 400).covers == 7


@pytest.mark.parametrize(("after", "fruitful"), [(90, True), (91, False), (100, False), (120, False)])
def test_a_summary_must_free_a_tenth(after: int, fruitful: bool) -> None:
    assert is_fruitful(100, after) is fruitful


def test_the_oldest_results_are_shortened_first_and_no_more_than_needed() -> None:
    blocks = (user(2, "a"), batch(3, "a", "r" * 1000, "short", "r" * 1000), batch(7, "a", "r" * 1000))
    assert to_shorten(blocks, 700, ONE) == (30,)
    assert to_shorten(blocks, 1000, ONE) == (30, 32)
    assert to_shorten(blocks, 9000, ONE) == (30, 32, 70)
    assert to_shorten(blocks, 0, ONE) == ()


@pytest.mark.parametrize(
    ("covered", "tokens"), [(None, 125), (10_000, 125), (250, 125), (249, 124), (128, 64), (127, 64), (0, 64)]
)
def test_a_summary_may_have_half_of_what_it_stands_for_and_no_less_than_a_few_sentences(
    covered: int | None, tokens: int
) -> None:
    assert room(covered_tokens=covered).summary_tokens == tokens  # pyright: ignore[reportArgumentType]
