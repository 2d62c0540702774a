"""How much of a result the model gets, how a longer one is cut, and how it is read on (T9)."""

from __future__ import annotations

import re
from itertools import accumulate

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.core.result_cap import LEAST_CAP, LEAST_SHARE, capped, page_of, result_cap

pytestmark = pytest.mark.rules("T9")

LEFT_OUT = re.compile(
    r'\n\[… (\d+) of (\d+) bytes are left out here; read_result \{"call": (\d+), "offset": (\d+)\} gives them …\]\n'
)
GOES_ON = re.compile(
    r'\n\[characters (\d+) to (\d+) of (\d+); read_result \{"call": (\d+), "offset": (\d+)\} goes on\]$'
)
AT_END = re.compile(r"\n\[characters (\d+) to (\d+) of (\d+): this is the end\]$")

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
CLUSTERS = [FAMILY, "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea", "e\u0301\u0323", "\r\n"]
PIECES = [*(f"{cluster}-" for cluster in CLUSTERS), "word ", "\U0001f30a", "日本", "\u2028", "\n", "[… 3"]


def repeated(pieces: list[str], times: int) -> str:
    return "".join(pieces) * times


TEXTS = st.builds(repeated, st.lists(st.sampled_from(PIECES), min_size=1, max_size=12), st.integers(1, 120))
CAPS = st.integers(LEAST_SHARE, 3000)


@pytest.mark.parametrize(
    ("limit", "context", "used", "cap"),
    [
        (16_384, None, 0, 16_384),
        (16_384, 1_000_000, 0, 16_384),
        # A quarter of the context, three bytes a token.
        (16_384, 4096, 0, 3072),
        (16_384, 21_844, 0, 16_383),
        (16_384, 21_846, 0, 16_384),
        # Half of what is left.
        (16_384, 4096, 2048, 3072),
        (16_384, 4096, 2049, 3070),
        (16_384, 4096, 4000, 144),
        (16_384, 4096, 5000, LEAST_SHARE),
        (100, 1_000_000, 0, LEAST_SHARE),
        (LEAST_CAP + 1, None, 0, LEAST_CAP + 1),
    ],
)
def test_the_cap_is_the_least_of_setting_quarter_and_half_of_the_room(
    limit: int, context: int | None, used: int, cap: int
) -> None:
    assert result_cap(limit, context_tokens=context, used_tokens=used) == cap


@given(
    context=st.integers(4000, 200_000),
    share=st.floats(0, 0.5),
    sizes=st.lists(st.integers(0, 50_000), min_size=1, max_size=6),
)
def test_the_results_of_one_batch_get_half_of_the_room_together(context: int, share: float, sizes: list[int]) -> None:
    used, shown = int(context * share), 0
    for place, size in enumerate(sizes):
        cap = result_cap(
            10**9, context_tokens=context, used_tokens=used, batch_bytes=shown, open_calls=len(sizes) - place
        )
        shown += min(size, cap)

    assert shown <= (context - used) * 3 // 2


def test_what_a_short_result_leaves_of_the_room_goes_to_the_others() -> None:
    first = result_cap(10**9, context_tokens=4000, used_tokens=2000, open_calls=3)
    second = result_cap(10**9, context_tokens=4000, used_tokens=2000, batch_bytes=10, open_calls=2)

    assert (first, second) == (1000, 1495)


@pytest.mark.parametrize(("size", "cut"), [(999, False), (1000, False), (1001, True)])
@pytest.mark.parametrize("letter", ["x", "é", "\U0001f30a"])
def test_a_text_is_cut_only_above_its_cap(size: int, cut: bool, letter: str) -> None:
    width = len(letter.encode())
    text = letter * (size // width) + "x" * (size % width)

    shown = capped(text, 1000, call=1)

    assert (shown.cut, shown.text == text) == (cut, not cut)
    assert len(shown.text.encode()) <= 1000


def test_the_cut_says_what_is_missing_and_how_to_get_it() -> None:
    text = "H" * 5000 + "T" * 5000

    shown = capped(text, 1000, call=12).text

    head, tail = shown[: shown.index("\n")], shown[shown.rindex("\n") + 1 :]
    missing = 10_000 - len(head) - len(tail)
    assert set(head) == {"H"}
    assert set(tail) == {"T"}
    assert shown == (
        f"{head}\n[… {missing} of 10000 bytes are left out here; "
        f'read_result {{"call": 12, "offset": {len(head)}}} gives them …]\n{tail}'
    )
    assert len(head) > 2 * len(tail) > 100
    assert len(shown.encode()) > 990


@given(text=TEXTS, cap=CAPS, call=st.integers(1, 10**6))
@example(text="\u0301" * 3000, cap=LEAST_CAP, call=1)
@example(text=FAMILY * 300, cap=LEAST_CAP, call=10**6)
def test_a_cut_text_is_head_notice_and_tail_within_the_cap(text: str, cap: int, call: int) -> None:
    shown = capped(text, cap, call=call)
    size = len(text.encode())

    assert shown.cut is (size > cap)
    assert len(shown.text.encode()) <= max(cap, size if not shown.cut else 0)
    if not shown.cut:
        assert shown.text == text
        return
    (notice,) = LEFT_OUT.finditer(shown.text)
    head, tail = shown.text[: notice.start()], shown.text[notice.end() :]
    missing, of, of_call, offset = map(int, notice.groups())
    assert text.startswith(head)
    assert text.endswith(tail)
    assert (missing, of) == (size - len(head.encode()) - len(tail.encode()), size)
    assert (of_call, offset) == (call, len(head))
    assert missing > 0


def places_within(text: str) -> set[int]:
    """Give the places at which a cut would tear one of the clusters apart."""
    found = (match for cluster in CLUSTERS for match in re.finditer(re.escape(cluster), text))
    return {place for match in found for place in range(match.start() + 1, match.end())}


@given(text=TEXTS, cap=CAPS)
def test_no_cut_tears_a_character_apart(text: str, cap: int) -> None:
    parts, _ = read_through(text, cap)
    ends = set(accumulate(map(len, parts)))
    for notice in LEFT_OUT.finditer(capped(text, cap, call=1).text):
        ends |= {notice.start(), len(text) - (len(notice.string) - notice.end())}

    assert ends & places_within(text) == set()


def read_through(text: str, cap: int, call: int = 3) -> tuple[list[str], list[str]]:
    """Read a text as a model does: from 0 on, each time where the page before says. Give texts and whole pages."""
    parts: list[str] = []
    pages: list[str] = []
    offset = 0
    while True:
        page = page_of(text, call=call, offset=offset, cap=cap)
        pages.append(page)
        more = GOES_ON.search(page)
        end = AT_END.search(page)
        found = more or end
        assert found is not None
        parts.append(page[: found.start()])
        begin, until, length = map(int, found.groups()[:3])
        assert (begin, until, length) == (offset, offset + len(parts[-1]), len(text))
        if more is None:
            return parts, pages
        assert (int(more[4]), int(more[5])) == (call, until)
        assert until > offset
        offset = until


@given(text=TEXTS, cap=CAPS)
@example(text="\u0301" * 3000, cap=LEAST_CAP)
@example(text="\u200d" * 3000, cap=LEAST_CAP)
@example(text="\U0001f1e9" * 3001, cap=LEAST_CAP)
@example(text="\U0001f468\u200d" * 2000, cap=LEAST_CAP)
def test_pages_put_together_are_the_whole_text(text: str, cap: int) -> None:
    parts, pages = read_through(text, cap)

    assert "".join(parts) == text
    assert all(len(page.encode()) <= cap for page in pages)


@given(text=TEXTS, cap=CAPS)
def test_a_page_that_begins_where_the_cut_says_gives_what_was_left_out(text: str, cap: int) -> None:
    shown = capped(text, cap, call=3)
    if not shown.cut:
        return
    (notice,) = LEFT_OUT.finditer(shown.text)
    head, offset = shown.text[: notice.start()], int(notice[4])

    page = page_of(text, call=3, offset=offset, cap=cap)

    found = GOES_ON.search(page) or AT_END.search(page)
    assert found is not None
    assert text.startswith(head + page[: found.start()])


@pytest.mark.parametrize("offset", [5, 6, 10**9])
def test_behind_the_end_there_is_nothing_and_the_length_is_told(offset: int) -> None:
    said = page_of("abcde", call=3, offset=offset, cap=LEAST_CAP)

    assert said == f"The result of call 3 has 5 characters; nothing stands at offset {offset}."


def test_the_last_character_is_a_page() -> None:
    assert page_of("abcde", call=3, offset=4, cap=LEAST_CAP) == "e\n[characters 4 to 5 of 5: this is the end]"


def test_a_cap_without_room_for_text_leaves_the_notice_and_pages_of_one_character() -> None:
    text = "word " * 100

    assert LEFT_OUT.fullmatch(capped(text, 1, call=1).text)
    assert page_of(text, call=1, offset=0, cap=1).startswith("w\n[characters 0 to 1 of 500;")


def test_a_character_longer_than_a_page_is_cut_where_the_page_is_full() -> None:
    parts, _ = read_through("\U0001f468\u200d" * 500, LEAST_CAP)

    assert min(map(len, parts[:-1])) > 20
