"""T9, S3: a whole text fits the record that was cut out of it, and no other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.result_cap import LEAST_CAP, capped
from service.core.whole_text import whole_text_fault

pytestmark = pytest.mark.rules("T9", "S3")

PIECES = ["word ", "\U0001f468\u200d\U0001f469", "e\u0301", "日本", "\u2028", "\n[… 3 of 9 bytes are left out here; "]


def repeated(pieces: list[str], times: int) -> str:
    return "".join(pieces) * times


TEXTS = st.builds(repeated, st.lists(st.sampled_from(PIECES)), st.integers(1, 90))


@given(text=TEXTS, cap=st.integers(LEAST_CAP, 2000))
def test_what_the_service_keeps_of_any_text_fits(text: str, cap: int) -> None:
    shown = capped(text, cap, call=7)
    size = len(text.encode())

    assert whole_text_fault(shown.text, size, text.encode() if shown.cut else None) is None
    assert whole_text_fault(shown.text, size, None if shown.cut else text.encode()) is not None


def test_a_text_that_holds_the_words_of_a_cut_one_fits() -> None:
    inner = capped("a" * 1000, LEAST_CAP, call=1).text
    text = f"{inner}{'b' * 1000}{inner}"
    shown = capped(text, 700, call=2).text

    assert shown.count("bytes are left out here") == 3
    assert whole_text_fault(shown, len(text.encode()), text.encode()) is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (None, "its full text is missing"),
        (b"a" * 999, "its full text has 999 bytes, not 1000"),
        (b"b" + b"a" * 999, "its full text does not begin and end as the record shows"),
        (b"a" * 999 + b"b", "its full text does not begin and end as the record shows"),
    ],
)
def test_a_text_that_does_not_fit_is_told_in_words(changed: bytes | None, said: str) -> None:
    shown = capped("a" * 1000, LEAST_CAP, call=1).text

    assert whole_text_fault(shown, 1000, changed) == said


@pytest.mark.parametrize(
    "mark",
    [
        '\n[… 998 of 1000 bytes are left out here; read_result {"call": 1, "offset": 1} gives them …]\n',
        '\n[… 997 of 1001 bytes are left out here; read_result {"call": 1, "offset": 1} gives them …]\n',
        '\n[… 997 of 1000 bytes are left out here; read_result {"call": 1, "offset": 2} gives them …]\n',
        "\n[… bytes are left out …]\n",
    ],
)
def test_numbers_that_do_not_add_up_are_found(mark: str) -> None:
    whole = b"x" * 1000

    assert whole_text_fault(f"x{mark}xx", len(whole), whole) is not None
    right = '\n[… 997 of 1000 bytes are left out here; read_result {"call": 1, "offset": 1} gives them …]\n'
    assert whole_text_fault(f"x{right}xx", len(whole), whole) is None


def test_half_a_surrogate_pair_in_a_record_is_no_reason_to_stop() -> None:
    assert whole_text_fault("\ud800", 1000, b"x" * 1000) is not None
