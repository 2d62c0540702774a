"""Whatever the text, the budget and the tokenizer: nothing is lost, no chunk is over, and the end is reached (R1)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from semantic_text_splitter import TextSplitter

from service.core.reading.chunking import MINIMUM_BUDGET
from tests.core.reading.cut_texts import COUNTERS, Counter, by_bytes, cut, prose

pytestmark = pytest.mark.rules("R1")

_PARTS = (
    prose(300),
    "A sentence. Another one! ",
    "我们走在长长的路上。",
    "漢字仮名交文",
    "YWJjZGVmZ2hpamtsbW5vcA==",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e9\U0001f1ea",
    "\u0301",
    "\r\n",
    "\n",
    " ",
    "\t\u3000\u2028",
    "x",
    "    if a < b:\n        return {}\n",
    "# Heading\n\n",
    "```\n",
    "| a | b |\n|---|---|\n",
    "* item\n  * inner\n",
    "> quoted\n",
)
_REPEATED = st.tuples(st.sampled_from(_PARTS), st.integers(1, 20)).map(lambda part: part[0] * part[1])
TEXTS = st.lists(st.one_of(_REPEATED, st.text(st.characters(exclude_categories=["Cs"]), max_size=40)), max_size=5).map(
    "".join
)
BUDGETS = st.integers(MINIMUM_BUDGET, 300)
COUNTS = st.sampled_from(list(COUNTERS.values()))
MEDIA_TYPES = st.sampled_from(["text/plain", "text/markdown"])


@settings(deadline=None, max_examples=60)
@given(text=TEXTS, budget=BUDGETS, count=COUNTS, media_type=MEDIA_TYPES)
def test_the_chunks_are_the_text_and_each_was_counted_within_the_budget(
    text: str, budget: int, count: Counter, media_type: str
) -> None:
    made = cut(text, budget, count, media_type)

    assert "".join(made.chunks) == text
    assert all(made.chunks)
    assert made.tokens == tuple(map(count, made.chunks))
    assert max(made.tokens, default=0) <= budget
    assert set(made.chunks) <= set(made.counted)


@settings(deadline=None, max_examples=60)
@given(text=TEXTS, budget=BUDGETS, count=COUNTS, media_type=MEDIA_TYPES)
def test_the_end_is_reached_after_a_bounded_number_of_counts(
    text: str, budget: int, count: Counter, media_type: str
) -> None:
    made = cut(text, budget, count, media_type)

    assert len(made.counted) <= 8 * len(made.chunks) + 8


@settings(deadline=None, max_examples=60)
@given(text=TEXTS, budget=BUDGETS, count=COUNTS, media_type=MEDIA_TYPES)
def test_white_space_is_a_chunk_only_where_it_fits_neither_neighbour(
    text: str, budget: int, count: Counter, media_type: str
) -> None:
    chunks = cut(text, budget, count, media_type).chunks

    lone = [(first, second) for first, second in pairwise(chunks) if first.isspace() != second.isspace()]
    assert all(count(first + second) > budget for first, second in lone)


class WatchedSplitter:
    """Adds up what it is given to split."""

    characters = 0

    def __init__(self, capacity: int, *, trim: bool) -> None:
        self._splitter = TextSplitter(capacity, trim=trim)

    def chunks(self, text: str) -> list[str]:
        WatchedSplitter.characters += len(text)
        return self._splitter.chunks(text)


@pytest.mark.parametrize(
    ("text", "handed"),
    [
        (prose(100_000) * 100, 3.5),
        ("0123456789abcdef" * 62_500, 3.5),
        ("\n" * 1_000_000, 3.5),
        ("漢字仮名交文" * 50_000, 3.5),
    ],
    ids=["ten megabytes of prose", "a line of a megabyte", "line ends only", "characters without an end"],
)
def test_the_work_grows_with_the_text_and_no_faster(text: str, handed: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WatchedSplitter, "characters", 0)
    monkeypatch.setattr("service.core.reading.chunking.TextSplitter", WatchedSplitter)

    made = cut(text, 2048, by_bytes)

    assert len(made.counted) <= 1.1 * len(made.chunks) + 5
    assert sum(map(len, made.counted)) <= 1.1 * len(text) + 50_000
    assert 0 < WatchedSplitter.characters <= handed * len(text) + 50_000
