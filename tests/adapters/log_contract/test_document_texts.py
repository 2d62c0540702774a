"""R1, R5: the texts of a reading are kept byte for byte, and any range of them is read."""

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.adapters.log_contract.readings_made import make, text_of
from tests.adapters.log_contract.stores import Store

pytestmark = [pytest.mark.anyio, pytest.mark.rules("R1", "R5")]

PART = 64 * 1024
TEXTS = {
    "empty": b"",
    "one byte": b"x",
    "outside of the first plane": "\ufeff\U0001f9f5 \x00\r\n".encode(),
    "a part but for one byte": b"p" * (PART - 1),
    "a part": b"p" * PART,
    "a part and one byte": b"p" * PART + b"q",
    "many parts": bytes(range(256)) * 1024 * 20,
    "characters across the ends of parts": "\u20ac".encode() * PART,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
async def test_a_text_comes_back_byte_for_byte(log: Store, text: bytes) -> None:
    reading = await make(log, documents=[text])

    assert await text_of(log, reading) == text
    assert await log.document_text(reading, 1, start=0, end=len(text)) == text


async def test_each_document_has_its_own_text(log: Store) -> None:
    texts = list(TEXTS.values())
    reading, other = await make(log, documents=texts), await make(log, documents=[b"other"])

    assert [await text_of(log, reading, number) for number in range(1, len(texts) + 1)] == texts
    assert await text_of(log, other) == b"other"


async def test_there_is_no_text_but_of_the_documents(log: Store) -> None:
    reading, without = await make(log, documents=[b"a", b""]), await make(log, documents=[])

    assert [await text_of(log, reading, number) for number in (-1, 0, 3)] == [None, None, None]
    assert await text_of(log, without) is None


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (0, 0),
        (5, 5),
        (7, 3),
        (PART - 1, PART + 1),
        (PART, PART),
        (PART, 2 * PART),
        (3 * PART, 4 * PART),
        (0, 1),
        (9, 10**9),
    ],
)
async def test_a_range_ends_where_the_text_does(log: Store, start: int, end: int) -> None:
    text = bytes(range(251)) * 600
    reading = await make(log, documents=[b"another", text])

    assert await log.document_text(reading, 2, start=start, end=end) == text[start:end]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(size=st.integers(0, 4 * PART), cuts=st.lists(st.integers(0, 5 * PART), max_size=6))
async def test_ranges_put_together_are_the_text(log: Store, size: int, cuts: list[int]) -> None:
    text = (bytes(range(249)) * (size // 249 + 1))[:size]
    reading = await make(log, documents=[b"before", text, b"behind"])

    ends = sorted({0, *cuts, size, 6 * PART})
    ranges = [await log.document_text(reading, 2, start=start, end=end) for start, end in pairwise(ends)]

    assert b"".join(part or b"" for part in ranges) == text
    assert None not in ranges
