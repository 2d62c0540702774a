"""What fits the context is decided before the first call (R10)."""

from __future__ import annotations

import pytest

from service.core.reading.options import ReadingOptions
from service.core.reading.sizes import LARGEST_CHUNK, TooSmallContext, answer_tokens, sizes

pytestmark = [pytest.mark.rules("R10", "R3")]


def test_a_chunk_takes_what_memory_and_answer_leave_and_no_more_than_the_largest() -> None:
    fitting = sizes(ReadingOptions(memory_budget=256), context_tokens=4096, frame_tokens=300)

    assert fitting.answer_tokens == answer_tokens(256) == 768
    assert 300 + 256 + fitting.chunk_tokens + 768 < 4096
    assert fitting.chunk_tokens > 2700
    assert sizes(ReadingOptions(), context_tokens=131_072, frame_tokens=300).chunk_tokens == LARGEST_CHUNK
    assert sizes(ReadingOptions(chunk_tokens=200), context_tokens=8192, frame_tokens=300).chunk_tokens == 200


@pytest.mark.parametrize(
    ("options", "context", "fits"),
    [
        (ReadingOptions(memory_budget=1024), 4096, True),
        (ReadingOptions(memory_budget=1024), 3650, False),
        (ReadingOptions(memory_budget=64, chunk_tokens=2000), 2650, False),
        (ReadingOptions(memory_budget=64, chunk_tokens=2000), 3000, True),
        # At level 2 a memory must fit where a chunk does.
        (ReadingOptions(memory_budget=512, level=1), 2500, True),
        (ReadingOptions(memory_budget=512, level=2), 2500, False),
    ],
)
def test_what_does_not_fit_is_refused_with_the_numbers(options: ReadingOptions, context: int, fits: bool) -> None:
    if fits:
        sizes(options, context_tokens=context, frame_tokens=200)
        return
    with pytest.raises(TooSmallContext) as small:
        sizes(options, context_tokens=context, frame_tokens=200)
    assert str(context) in small.value.reason
    assert "memory_budget" in small.value.reason
