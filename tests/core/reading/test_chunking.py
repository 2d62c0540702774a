"""A long text is cut where a reader would stop, in chunks that are nearly full (R1)."""

from __future__ import annotations

import re
from base64 import b64encode
from itertools import islice
from random import Random
from statistics import mean

import pytest

from service.core.errors import TurnkeeperError
from service.core.reading.chunking import MINIMUM_BUDGET, BudgetTooSmall, Cutting
from service.core.text_boundary import boundary_before
from tests.core.reading.cut_texts import COUNTERS, Counter, by_bytes, by_runs, by_words, cut, prose, sentences

pytestmark = pytest.mark.rules("R1")

CHINESE = "我们走在长长的路上。天气很好,没有人说话。"


@pytest.mark.parametrize("between", ["\n\n", "\n", "\r\n\r\n", "\n\n\n"])
@pytest.mark.parametrize("count", COUNTERS.values(), ids=COUNTERS.keys())
def test_paragraphs_that_fit_twice_stay_whole(count: Counter, between: str) -> None:
    text = prose(60_000, between=between)
    paragraphs = text.split(between)

    chunks = cut(text, 2 * max(map(count, paragraphs)) + 20, count).chunks

    assert len(chunks) > 5
    assert [paragraph for chunk in chunks for paragraph in chunk.strip().split(between)] == paragraphs


@pytest.mark.parametrize("count", COUNTERS.values(), ids=COUNTERS.keys())
def test_a_paragraph_that_does_not_fit_is_cut_between_sentences(count: Counter) -> None:
    said = list(islice(sentences(2), 400))

    chunks = cut(" ".join(said), 4 * max(map(count, said)), count).chunks

    assert len(chunks) > 20
    assert [sentence for chunk in chunks for sentence in re.findall(r"\S[^.]*\.", chunk)] == said
    assert all(chunk.rstrip().endswith(".") for chunk in chunks)


def test_a_text_without_sentences_is_cut_between_words() -> None:
    words = re.findall(r"\w+", prose(20_000))

    chunks = cut(" ".join(words), 100, by_bytes).chunks

    assert [word for chunk in chunks for word in chunk.split()] == words


def test_chinese_is_cut_behind_its_full_stops() -> None:
    chunks = cut(CHINESE * 300, 200, len).chunks

    assert len(chunks) > 30
    assert all(chunk.endswith("。") for chunk in chunks)


@pytest.mark.parametrize(
    "cluster", ["\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "e\u0301", "\r\n"]
)
def test_no_cut_falls_into_what_is_seen_as_one_character(cluster: str) -> None:
    text = cluster * 2000

    made = cut(text, 100, by_bytes)

    places = [len(text.encode()[:end].decode()) for end in made.ends]
    assert len(places) > 8
    assert [boundary_before(text, place) for place in places] == places


def test_a_character_of_more_code_points_than_fit_is_cut_all_the_same() -> None:
    text = "a" + "\u0301" * 5000

    made = cut(text, 100, by_bytes)

    assert "".join(made.chunks) == text
    assert max(made.tokens) <= 100


def test_markdown_is_cut_before_headings_and_not_within_a_block_of_code() -> None:
    code = "```\n" + "x = 1\n\n\ny = 2\n" * 6 + "```\n\n"
    text = "".join(f"# Part {part}\n\n{prose(400, seed=part)}\n\n{code}" for part in range(40))

    marked = cut(text, 620, by_bytes, "text/markdown; charset=utf-8").chunks
    plain = cut(text, 620, by_bytes, "text/plain").chunks

    assert all(chunk.startswith("# Part") and chunk.count("```") % 2 == 0 for chunk in marked)
    assert any(chunk.count("```") % 2 for chunk in plain)


def test_a_heading_is_not_left_alone_before_a_long_paragraph() -> None:
    paragraph = " ".join(islice(sentences(3), 100))

    first = cut(f"# The title\n\n\n{paragraph}", 400, by_bytes, "text/markdown").chunks[0]

    assert paragraph[:1000] in first


@pytest.mark.parametrize("budget", [256, 1024, 4096])
@pytest.mark.parametrize("count", COUNTERS.values(), ids=COUNTERS.keys())
def test_prose_fills_its_chunks_and_costs_little_more_than_a_count_for_each(count: Counter, budget: int) -> None:
    text = prose(400_000)

    made = cut(text, budget, count)

    assert mean(made.tokens[:-1]) >= 0.7 * budget
    assert len(made.counted) <= 1.25 * len(made.chunks) + 3


@pytest.mark.parametrize("budget", [512, 2048])
@pytest.mark.parametrize("count", COUNTERS.values(), ids=COUNTERS.keys())
def test_each_change_of_language_costs_a_few_counts_only(count: Counter, budget: int) -> None:
    secret = b64encode(Random(4).randbytes(30_000)).decode()
    changes = [prose(60_000), CHINESE * 2000, secret, "\n" * 5000, "\U0001f1e9\U0001f1ea" * 2000] * 3

    made = cut("".join(changes), budget, count)

    assert len(made.counted) <= 1.25 * len(made.chunks) + 6 * len(changes)


def test_a_chunk_is_filled_up_where_the_text_turns_cheaper() -> None:
    words = " ".join(re.findall(r"\w+", prose(30_000)))

    made = cut("字" * 3000 + words, 500, by_bytes)

    assert min(made.tokens[:-1]) >= 0.85 * 500


def test_no_piece_is_counted_twice() -> None:
    random = Random(5)
    changes = ["".join(map(chr, random.choices(range(0x4E00, 0x9FA0), k=700))) + prose(3000, seed=n) for n in range(40)]

    counted = cut("".join(changes), 1000, by_bytes).counted

    assert len(set(counted)) == len(counted)


def test_tokens_that_stand_close_together_are_found_in_a_few_counts() -> None:
    crowded = "x" * 91 + " " * 3000

    counted = cut(" " * 3000 + crowded, 90, lambda text: text.count("x")).counted

    assert len(counted) <= 25


def test_what_follows_free_white_space_is_not_counted_in_huge_pieces() -> None:
    text = " " * 20_000 + prose(500_000)

    counted = cut(text, 200, lambda piece: len(piece.replace(" ", ""))).counted

    assert max(map(len, counted)) <= 50_000


def test_a_text_that_just_fits_is_one_chunk() -> None:
    assert cut("abc" * 98, 100, lambda text: -(-len(text) // 3)).tokens == (98,)


def test_a_text_that_fits_is_one_chunk_after_one_count() -> None:
    made = cut("One.\n\nTwo.\n", 64, by_words)

    assert (made.ends, made.tokens, made.counted) == ((11,), (4,), ("One.\n\nTwo.\n",))


def test_an_empty_text_has_no_chunk_and_asks_nothing() -> None:
    made = cut("", 64, by_words)

    assert (made.ends, made.counted) == ((), ())


def test_ends_are_counted_in_bytes() -> None:
    text = CHINESE * 100

    made = cut(text, 64, len)

    assert made.ends[-1] == len(text.encode()) == 3 * len(text) - 2 * text.count(",")
    assert made.ends[0] == len(made.chunks[0].encode())


def test_white_space_before_and_behind_goes_with_the_text() -> None:
    text = "\n" * 40 + prose(3000) + "\n" * 90

    made = cut(text, 100, by_bytes)

    assert all(chunk.strip() for chunk in made.chunks)


def test_white_space_left_over_at_the_end_is_joined_to_the_last_chunk() -> None:
    line = "ab" * 185 + "\n\n"

    made = cut(line * 6 + "ab" * 190 + "\n" * 40, 400, by_runs)

    assert made.tokens[-1] == by_runs("ab" * 190 + "\n" * 40)


def test_a_budget_below_the_least_is_refused() -> None:
    with pytest.raises(BudgetTooSmall, match=f"at least {MINIMUM_BUDGET} tokens, not {MINIMUM_BUDGET - 1}"):
        Cutting("text", budget=MINIMUM_BUDGET - 1, media_type="text/plain")


def test_a_single_character_over_the_budget_is_an_error() -> None:
    with pytest.raises(BudgetTooSmall, match="One character has 17 tokens, over the budget of 16") as caught:
        cut("some text", 16, lambda text: 17 * len(text))

    assert isinstance(caught.value, TurnkeeperError)
    assert isinstance(caught.value, ValueError)


def test_an_answer_that_nobody_asked_for_is_an_error() -> None:
    cutting = Cutting("text", budget=16, media_type="text/plain")
    cutting.answer(1)

    with pytest.raises(ValueError, match="no question"):
        cutting.answer(1)


def test_a_text_whose_boundaries_get_lower_and_lower_is_cut_all_the_same() -> None:
    # Each run of line ends is a boundary of its own kind: the longest one leaves least.
    steps = "".join("x" + "\n" * length for length in range(30, 1, -1))
    made = cut(steps + "y" * 3000, 1024, by_bytes)

    assert "".join(made.chunks) == steps + "y" * 3000
    assert max(made.tokens) <= 1024
