"""Whether a text stands in a prompt.

Templates trim texts, and some write them as JSON or HTML, from which the text can be had back: those count as shown.
A text of which a part is missing does not.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from functools import lru_cache

# Jinja's `tojson` writes these so, for pages; its `escape` writes both quotes as numbers.
_TOJSON = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"})


def shown(text: str, marks: Sequence[str]) -> bool:
    """Tell whether all marks stand in the text, one behind the other."""
    place = 0
    for mark in marks:
        ends = [found + len(form) for form in forms(mark) if (found := text.find(form, place)) >= 0]
        if not ends:
            return False
        place = min(ends)
    return True


@lru_cache(maxsize=1024)
def forms(mark: str) -> tuple[str, ...]:
    """Give the ways in which a text may be written, without the white space at its ends."""
    plain = mark.strip()
    as_json = [json.dumps(plain, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True)]
    as_html = html.escape(plain).replace("&#x27;", "&#39;")
    return tuple(
        dict.fromkeys(
            [
                plain,
                *as_json,
                *(form.translate(_TOJSON) for form in as_json),
                as_html,
                as_html.replace("&quot;", "&#34;"),
            ]
        )
    )
