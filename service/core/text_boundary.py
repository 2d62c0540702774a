"""Where a text may be cut so that no character falls apart, emoji of several code points among them (T9).

Above: `result_cap`. A boundary here is coarser than Unicode's grapheme clusters where that is cheaper: a place that
is refused costs a few characters, a place that is taken wrongly shows half a flag.
"""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
_MARKS = frozenset({"Mn", "Mc", "Me"})
# Skin tones; tags, of which the flags of England, Scotland and Wales are made.
_MODIFIERS = ((0x1F3FB, 0x1F3FF), (0xE0020, 0xE007F))
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
# A run of marks is bounded, so that a text of nothing else is still cut somewhere.
_LOOK_BACK = 64


def boundary_before(text: str, place: int) -> int:
    """Give the last place not behind `place`, counted in code points, where the text may be cut."""
    if place >= len(text):
        return len(text)
    for candidate in range(place, max(0, place - _LOOK_BACK), -1):
        if not _belong_together(text, candidate):
            return candidate
    return max(0, place) if place > _LOOK_BACK else 0


def boundary_behind(text: str, place: int) -> int:
    """Give the first place not before `place` where the text may be cut."""
    if place <= 0:
        return 0
    for candidate in range(place, min(len(text), place + _LOOK_BACK)):
        if not _belong_together(text, candidate):
            return candidate
    return min(len(text), max(place, 0)) if place + _LOOK_BACK < len(text) else len(text)


def _belong_together(text: str, place: int) -> bool:
    before, behind = text[place - 1], text[place]
    if before == "\r" and behind == "\n":
        return True
    if before == _JOINER or behind == _JOINER or unicodedata.category(behind) in _MARKS:
        return True
    if any(first <= ord(behind) <= last for first, last in _MODIFIERS):
        return True
    return behind in _FLAG_LETTERS and _flag_letters_before(text, place) % 2 == 1


def _flag_letters_before(text: str, place: int) -> int:
    # All of them, however many: which two make a flag is known from the first one on.
    return place - len(text[:place].rstrip(_FLAG_LETTERS))
