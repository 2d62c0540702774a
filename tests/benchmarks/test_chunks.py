"""Chunks: no byte is lost, none is over the budget, and few counts are needed."""

from __future__ import annotations

import random

import pytest

from benchmarks.reading.chunks import cut
from benchmarks.reading.failures import AttemptFailed
from benchmarks.reading.texts import WordListText

pytestmark = [pytest.mark.anyio]


class WordCount:
    """Counts words, so many tokens each, and how often it was asked."""

    def __init__(self, tokens_per_word: int = 1) -> None:
        self.asked = 0
        self._tokens_per_word = tokens_per_word

    async def __call__(self, text: str) -> int:
        self.asked += 1
        return len(text.split()) * self._tokens_per_word


async def byte_count(text: str) -> int:
    return len(text.encode())


@pytest.mark.parametrize("tokens_per_word", [1, 2, 7])
async def test_chunks_put_together_are_the_text_and_keep_to_the_budget(tokens_per_word: int) -> None:
    text = "\n\n".join(WordListText().sentences(random.Random(1), 3000)) + "  \n"
    chunks = await cut(text, 100, WordCount(tokens_per_word))

    assert "".join(chunk.text for chunk in chunks) == text
    assert max(chunk.tokens for chunk in chunks) <= 100
    assert [text.encode()[chunk.start : chunk.end].decode() for chunk in chunks] == [chunk.text for chunk in chunks]
    assert min(chunk.tokens for chunk in chunks[1:-1]) > 80


async def test_one_count_for_each_chunk_is_enough_where_words_are_alike() -> None:
    count = WordCount()
    chunks = await cut("word " * 5000, 100, count)

    assert len(chunks) == count.asked


@pytest.mark.parametrize(
    "text", ["", "   ", "ä" * 1000, "\n" * 300 + "end", "one " + "x" * 900 + " two", "日本語" * 200 + "\u2028" + "é"]
)
async def test_text_without_words_or_with_endless_ones_is_cut_all_the_same(text: str) -> None:
    chunks = await cut(text, 700, byte_count)

    assert "".join(chunk.text for chunk in chunks) == text
    assert all(chunk.tokens <= 700 for chunk in chunks)


async def test_a_word_that_alone_is_over_the_budget_is_said_to_be_so() -> None:
    with pytest.raises(AttemptFailed, match="one word has 200 tokens, more than a chunk of 64"):
        await cut("x" * 400, 64, byte_count)
