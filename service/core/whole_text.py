"""What a cut tool result must have in common with the whole text that is kept beside its record (T9, S3).

The whole text is in no hash itself: what binds it are the record's own words, which tell its size and hold its head
and its tail.
"""

from __future__ import annotations

import re

_LEFT_OUT = re.compile(
    r"\n\[… (?P<missing>\d{1,18}) of (?P<size>\d{1,18}) bytes are left out here; "
    r'read_result \{"call": \d+, "offset": (?P<offset>\d{1,18})\} gives them …\]\n'
)
"""What stands between head and tail of a cut result; logs keep it, so an older wording would stay known here."""


def whole_text_fault(content: str, original_bytes: int, whole: bytes | None) -> str | None:
    """Say what is wrong with the whole text that is kept of a result, in a clause; None when it fits.

    `content` is what the record shows, `original_bytes` how long it says that the whole is; a result that shows as
    much as it had has no whole text beside it.
    """
    if len(_bytes_of(content)) >= original_bytes:
        return None if whole is None else "a full text is kept beside it, though the record itself is whole"
    if whole is None:
        return "its full text is missing"
    if len(whole) != original_bytes:
        return f"its full text has {len(whole)} bytes, not {original_bytes}"
    # A tool's own text may hold words that look like ours.
    if not any(_fits(content, mark, whole) for mark in _LEFT_OUT.finditer(content)):
        return "its full text does not begin and end as the record shows"
    return None


def _fits(content: str, mark: re.Match[str], whole: bytes) -> bool:
    head, tail = _bytes_of(content[: mark.start()]), _bytes_of(content[mark.end() :])
    return (
        int(mark["size"]) == len(whole) == len(head) + int(mark["missing"]) + len(tail)
        and int(mark["offset"]) == mark.start()
        and whole.startswith(head)
        and whole.endswith(tail)
    )


def _bytes_of(text: str) -> bytes:
    # A body that somebody else wrote may hold half a surrogate pair, which no encoding of ours would take.
    return text.encode(errors="surrogatepass")
