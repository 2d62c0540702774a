"""Foreign text inside our own sentences: short, on one line, with nothing hidden in it (K5)."""

from __future__ import annotations

import unicodedata

# Controls, format characters (bidi among them), lone surrogates, line and paragraph separators.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str, limit: int) -> str:
    """Show at most `limit` characters of a text, hidden ones as escapes, and `…` where more followed."""
    shown = "".join(map(_shown, text[:limit]))
    return f"{shown}…" if len(text) > limit else shown


def _shown(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    code = ord(character)
    return _SHORT.get(character) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
