"""What the pages in Markdown point to exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("requirements/*.md")])
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)")
CODE_PATH = re.compile(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?|[a-z_]+\.py)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_within_the_repository_leads_somewhere(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))

    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_each_file_on_the_path_of_a_turn_exists() -> None:
    text = (ROOT / "docs" / "path-of-a-turn.md").read_text(encoding="utf-8")
    paths = [path for path in CODE_PATH.findall(text) if not path.startswith(("service/", "tests/"))]

    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / "service" / path).exists()] == []
