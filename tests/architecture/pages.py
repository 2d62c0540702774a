"""Pages in Markdown, as far as their links need: what they lead to, and which anchors they have."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
FRONT = DOCS / "index.md"

FENCED = re.compile(r"^( *)(`{3,})[^`\n]*\n.*?^ *\2 *$\n?", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
MARKUP = re.compile(r"\[([^]]*)\]\([^)]*\)|[`*]")


@dataclass(frozen=True, slots=True)
class Link:
    """A link within the repository: its words, the file that it leads to, and the anchor there."""

    words: str
    target: Path
    anchor: str | None


def links_in(page: Path) -> Iterator[Link]:
    """Give the links of a page that stay in the repository; a folder stands for its README, where it has one."""
    # A link's own words may be code, so code is only blanked where it could look like the end of a link.
    text = INLINE_CODE.sub(lambda code: code[0].replace("](", "  "), _prose(page))
    for link in LINK.finditer(text):
        target = (page.parent / link[1]).resolve() if link[1] else page
        readme = target / "README.md"
        yield Link(link[0], readme if readme.exists() else target, link[2])


@cache
def anchors_of(page: Path) -> frozenset[str]:
    """Give the anchors that a page has both where the repository is shown and on the site, which make them unlike."""
    headings = [MARKUP.sub(r"\1", heading) for heading in HEADING.findall(_prose(page))]
    once = [heading for heading in headings if headings.count(heading) == 1]
    return frozenset(slug_of_forges(heading) for heading in once) & frozenset(map(slug_of_site, once))


def slug_of_forges(heading: str) -> str:
    """Make an anchor as places that show repositories do."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def slug_of_site(heading: str) -> str:
    """Make an anchor as Python-Markdown does."""
    plain = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def clicks_from(front: Path) -> dict[Path, int]:
    """Count how many links each page of the docs is away from one of them."""
    away, reached = {front: 0}, [front]
    for page in reached:
        for link in links_in(page):
            is_page = link.target.suffix == ".md" and link.target.is_relative_to(DOCS) and link.target.exists()
            if is_page and link.target not in away:
                away[link.target] = away[page] + 1
                reached.append(link.target)
    return away


def _prose(page: Path) -> str:
    return FENCED.sub("", page.read_text(encoding="utf-8"))
