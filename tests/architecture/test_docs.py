"""What the pages in Markdown point to exists, and those that are made from the code are what the code says."""

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
