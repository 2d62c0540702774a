"""The site is whole by itself: all that a page leads to is laid out with it, and nothing comes from elsewhere."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import docs.site
from docs.site import Layout, SiteBroken
from tests.architecture.pages import DOCS, ROOT, links_in

CONFIG = tomllib.loads((DOCS / "zensical.toml").read_text(encoding="utf-8"))["project"]


def drawn(diagram: str) -> str:
    return f"<svg><!-- {len(diagram)} --></svg>"


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    Layout(folder, drawn).write()
    return folder


def pages_of(nav: list[dict[str, Any]]) -> Iterator[str]:
    for entry in nav:
        for page in entry.values():
            if isinstance(page, str):
                yield page
            else:
                yield from pages_of(page)


def test_each_link_of_a_page_on_the_site_stays_on_the_site(laid_out: Path) -> None:
    pages = sorted(laid_out.rglob("*.md"))
    outside = [
        f"{page.relative_to(laid_out)}: {link.words}"
        for page in pages
        for link in links_in(page)
        if not link.target.is_file() or not link.target.is_relative_to(laid_out)
    ]

    assert len(pages) > len(list(DOCS.rglob("*.md")))
    assert outside == []


def test_a_page_leads_to_pages_and_to_what_a_browser_shows_by_itself(laid_out: Path) -> None:
    led_to = {link.target.suffix for page in laid_out.rglob("*.md") for link in links_in(page)}

    assert led_to == {".md", ".png", ".svg", ".json"}


def test_diagrams_are_drawn_and_none_is_left_to_the_browser(laid_out: Path) -> None:
    wanted = sum(page.read_text(encoding="utf-8").count("```mermaid\n") for page in DOCS.rglob("*.md"))
    left = [page for page in laid_out.glob("*.md") if "```mermaid" in page.read_text(encoding="utf-8")]

    assert len([path for path in laid_out.rglob("*.svg") if "<!--" in path.read_text(encoding="utf-8")]) == wanted > 0
    assert left == []


def test_code_that_a_page_leads_to_is_a_page_that_shows_it(laid_out: Path) -> None:
    page = laid_out / "repository" / "tests" / "turns" / "test_limits.py.md"

    assert (ROOT / "tests/turns/test_limits.py").read_text(encoding="utf-8").rstrip() in page.read_text(
        encoding="utf-8"
    )


def test_a_link_that_leads_nowhere_stops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("[there](../gone.md#part)\n", encoding="utf-8")
    monkeypatch.setattr(docs.site, "ROOT", tmp_path)
    monkeypatch.setattr(docs.site, "DOCS", tmp_path / "docs")

    with pytest.raises(SiteBroken, match=re.escape("docs/page.md: ../gone.md leads nowhere")):
        Layout(tmp_path / "pages", drawn).write()


def test_the_navigation_has_each_page_but_the_single_decisions() -> None:
    listed = list(pages_of(CONFIG["nav"]))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}

    assert len(listed) == len(set(listed))
    assert {page for page in pages if not re.match(r"decisions/\d", page)} == set(listed)


def test_the_site_loads_no_fonts_from_elsewhere() -> None:
    assert CONFIG["theme"]["font"] is False
    assert [name for name in CONFIG if name.startswith("extra_java")] == []
