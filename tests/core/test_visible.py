"""Foreign text inside our own sentences."""

import pytest

from service.core.visible import visible

pytestmark = pytest.mark.rules("K5")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ('Grüße, 東京 😀 \\n "quoted"', 'Grüße, 東京 😀 \\n "quoted"'),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x00\x1b\x7f\x85", "\\u0000\\u001b\\u007f\\u0085"),
        ("\u202eevil\u2066\u200f", "\\u202eevil\\u2066\\u200f"),
        ("\u2028\u2029\ufeff", "\\u2028\\u2029\\ufeff"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_hidden_characters_become_escapes_and_others_stay(text: str, shown: str) -> None:
    assert visible(text, 100) == shown


def test_a_text_is_cut_where_it_is_longer_than_the_limit() -> None:
    assert visible("abc", 3) == "abc"
    assert visible("abcd", 3) == "abc…"
    assert visible("\n\n", 1) == "\\n…"
