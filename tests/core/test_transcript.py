"""A part of a conversation as text, cut into pieces that fit (C1, P6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.ids import TurnId
from service.core.projection import Block
from service.core.transcript import Passage, passages, pieces
from tests.core.test_compaction import answer, batch, user

pytestmark = pytest.mark.rules("C1")


def test_messages_answers_calls_and_results_are_told_in_order() -> None:
    told = [str(passage) for passage in passages([user(2, "a", "Hi"), batch(3, "a", "one", "two"), answer(6, "a")])]
    assert told == [
        "User: Hi",
        "Assistant: calls t with {}",
        "Result of t (ok): one",
        "Assistant: calls t with {}",
        "Result of t (ok): two",
        f"Assistant: {'y' * 100}",
    ]


def test_what_was_said_beside_calls_is_told_and_a_summary_that_stands_alone_is_not() -> None:
    from dataclasses import replace

    block = batch(3, "a", "one")
    assert block.batch is not None
    block = replace(block, batch=replace(block.batch, content="Let me see."))
    assert str(next(passages([block]))) == "Assistant: Let me see."
    pending = Block(turn=TurnId("a"), first_seq=1, last_seq=1, messages=({"role": "user", "content": "Summary"},))
    assert list(passages([pending])) == []


@pytest.mark.rules("P6")
def test_each_piece_of_an_untrusted_text_has_its_fences() -> None:
    passage = Passage(speaker="Result of t (ok)", text="abcdefghij" * 20, fence="0" * 16)
    parts = pieces([passage], 150)
    assert len(parts) > 1
    assert all(part.startswith(f"Result of t (ok):\n<untrusted {'0' * 16}>\n") for part in parts)
    assert all(part.endswith(f"\n</untrusted {'0' * 16}>") for part in parts)


def test_short_passages_share_a_piece() -> None:
    told = [Passage(speaker="User", text=text) for text in "abcd"]
    assert pieces(told, 18) == ["User: a\n\nUser: b", "User: c\n\nUser: d"]
    assert pieces(told, 1000) == ["User: a\n\nUser: b\n\nUser: c\n\nUser: d"]
    assert pieces([], 10) == []


@given(st.lists(st.text(max_size=60)), st.integers(20, 80))
def test_no_piece_is_too_long_and_nothing_is_left_out(texts: list[str], most: int) -> None:
    parts = pieces([Passage(speaker="U", text=text) for text in texts], most)
    assert all(len(part.encode()) <= most for part in parts)
    together = "".join(parts).replace("\n\nU: ", "").replace("U: ", "")
    assert together == "".join(texts).replace("\n\nU: ", "").replace("U: ", "")


def test_a_window_of_nothing_still_comes_to_the_end() -> None:
    flag = "\U0001f1e9\U0001f1ea"
    assert "".join(pieces([Passage(speaker="U", text=flag)], 1)).replace("U: ", "") == flag
