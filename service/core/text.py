"""What a text must be before it is kept: encodable as UTF-8."""

from __future__ import annotations

import re

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def encodable(text: str) -> str:
    """Replace lone surrogates by U+FFFD: JSON escapes may carry them, UTF-8 can't."""
    return _LONE_SURROGATE.sub("\ufffd", text)
