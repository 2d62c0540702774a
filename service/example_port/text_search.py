"""`search_text`: text that somebody else wrote, so its results are labelled `untrusted`.

The class depends on the answer: the spec says `public`, and an answer that quotes a higher page says more.
"""

import re
from collections import Counter
from collections.abc import Iterable

from service.example_port.handbook import HANDBOOK, Page
from service.example_port.tools import Call, Tool, object_schema
from service.port_wire.answers import Answer, DataClass, JsonObject, Result

MAX_HITS = 3
_RISING = tuple(DataClass)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def search(pages: Iterable[Page], query: str) -> list[Page]:
    """Give the pages that share words with the query, best first. Rare words weigh more."""
    words = [(page, _words(f"{page.title} {page.text}")) for page in pages]
    frequency = Counter(word for _, of_page in words for word in of_page)
    wanted = _words(query)
    scores = [(sum(1 / frequency[word] for word in wanted & of_page), page) for page, of_page in words]
    ranked = sorted(scores, key=lambda scored: -scored[0])[:MAX_HITS]
    # Pages that share nothing but an "and" with the query are left out beside one that fits.
    return [page for score, page in ranked if score and score >= ranked[0][0] / 2]


async def _search_text(call: Call) -> Answer:
    hits = search(HANDBOOK, call.text("query"))
    found: list[JsonObject] = [{"title": page.title, "text": page.text} for page in hits]
    highest = max((page.data_class for page in hits), key=_RISING.index, default=DataClass.PUBLIC)
    return Result(content=found, data_class=highest)


def text_search_tools() -> tuple[Tool, ...]:
    """Give the search. It only reads: `idempotent`. What it reads may carry instructions: `untrusted`."""
    return (
        Tool(
            name="search_text",
            title="Handbook search",
            description="Search the handbook of Larkspur Kiteworks",
            parameters=object_schema({"query": {"type": "string"}}),
            run=_search_text,
            idempotent=True,
            timeout_ms=10_000,
            untrusted=True,
        ),
    )
