"""Links lead somewhere and pages can be found; pages that are made from the code are what the code says."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

from docs.generate import PAGES as GENERATED
from docs.limit_rows import COMPACTING, CUTTING, ENDING, REFUSING, WAITING, LimitRow
from service.config.settings import Settings
from service.core.baseline import Limits
from service.core.records import Limit
from tests.architecture.pages import DOCS, FRONT, HEADING, ROOT, anchors_of, clicks_from, links_in

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("requirements/*.md")])
CODE_PATH = re.compile(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?|[a-z_]+\.py)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_within_the_repository_leads_somewhere(page: Path) -> None:
    assert [link.words for link in links_in(page) if not link.target.exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_anchor_of_a_link_is_a_heading_that_the_page_has_once(page: Path) -> None:
    with_anchor = [link for link in links_in(page) if link.anchor]

    assert [link.words for link in with_anchor if link.anchor not in anchors_of(link.target)] == []


def test_each_page_can_be_reached_from_the_front_page_by_links_alone() -> None:
    pages = set(DOCS.rglob("*.md"))

    assert sorted(str(path.relative_to(DOCS)) for path in pages - clicks_from(FRONT).keys()) == []


@pytest.mark.parametrize(
    "wanted",
    [
        "first-turn.md",
        "howto/write-a-tool-port.md",
        "howto/approve-tools.md",
        "dashboard.md",
        "howto/deploy-with-compose.md",
    ],
)
def test_a_newcomer_finds_what_is_wanted_first_in_two_clicks(wanted: str) -> None:
    assert clicks_from(FRONT)[DOCS / wanted] <= 2


# The words that the design fixes.
FIXED = {
    "session", "baseline", "log", "record", "seq", "pos", "signal", "turn event", "turn", "step", "batch",
    "sending point", "slot", "tool port", "class", "untrusted", "reading",
}  # fmt: skip
ENTRY = re.compile(r"^### (.+)\n\n(.+(?:\n.+)*)$", re.MULTILINE)


def test_the_glossary_has_the_words_of_the_design_and_those_of_the_concepts() -> None:
    entries = ENTRY.findall((DOCS / "glossary.md").read_text(encoding="utf-8"))
    words = [word.lower() for word, _ in entries]
    headings = HEADING.findall((DOCS / "concepts.md").read_text(encoding="utf-8"))[1:]

    assert words == sorted(words)
    assert (FIXED | {word.lower() for heading in headings for word in heading.split(", ")}) - set(words) == set()


def test_each_word_of_the_glossary_has_one_sentence_and_a_link() -> None:
    entries = ENTRY.findall((DOCS / "glossary.md").read_text(encoding="utf-8"))

    assert len(entries) == len(HEADING.findall((DOCS / "glossary.md").read_text(encoding="utf-8"))) - 1
    assert [word for word, said in entries if not re.fullmatch(r"(?:[^.]|\.(?!\s))+\]\([^)]+\)\.", said)] == []


def test_each_file_on_the_path_of_a_turn_exists() -> None:
    text = (ROOT / "docs" / "path-of-a-turn.md").read_text(encoding="utf-8")
    paths = [path for path in CODE_PATH.findall(text) if not path.startswith(("service/", "tests/"))]

    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / "service" / path).exists()] == []


ROWS = (*ENDING, *CUTTING, *COMPACTING, *WAITING, *REFUSING)


@pytest.mark.parametrize("page", GENERATED)
def test_a_page_that_is_made_from_the_code_is_up_to_date(page: str) -> None:
    assert (ROOT / page).read_text(encoding="utf-8") == GENERATED[page]()


@pytest.mark.rules("T12")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.limit)
def test_each_limit_has_the_test_that_the_page_names(row: LimitRow) -> None:
    path, name = row.test.split("::")
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))

    assert name in [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.rules("T12")
def test_the_page_of_limits_leaves_out_no_limit_and_no_bound_of_a_turn() -> None:
    named = " ".join(row.limit + row.seen for row in ENDING)

    assert [limit for limit in Limit if f"`limit: {limit}`" not in named] == []
    assert {field.name for field in fields(Limits)} - {row.setting for row in ROWS} == set()


@pytest.mark.rules("T12", "D1")
def test_the_settings_have_the_defaults_of_the_limits() -> None:
    defaults = {field.name: field.default for field in fields(Limits)}

    assert {name: Settings.model_fields[name].default for name in defaults} == defaults
