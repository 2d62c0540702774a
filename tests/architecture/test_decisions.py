"""Each decision is short, is listed, and names what enforces it."""

import re
from pathlib import Path

import pytest

from tests.architecture.pages import DOCS, ROOT

FOLDER = DOCS / "decisions"
DECISIONS = sorted(FOLDER.glob("[0-9]*.md"))
LONGEST_LINES = 50
# What follows these words, to the end of the paragraph.
ENFORCED = re.compile(r"Enforced by\s(.*?)(?:\n\n|\Z)", re.DOTALL)
PATH = re.compile(r"`([\w./-]+/[\w./-]*)`")
each_decision = pytest.mark.parametrize("decision", DECISIONS, ids=lambda path: path.stem[:4])


def enforcing(decision: Path) -> list[str]:
    return PATH.findall(" ".join(ENFORCED.findall(decision.read_text(encoding="utf-8"))))


def test_decisions_are_numbered_without_gaps() -> None:
    assert [int(path.stem[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


@each_decision
def test_a_decision_has_up_to_fifty_lines(decision: Path) -> None:
    assert len(decision.read_text(encoding="utf-8").splitlines()) <= LONGEST_LINES


@each_decision
def test_a_decision_is_listed_under_its_own_title(decision: Path) -> None:
    title = decision.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")

    row = f"| [{decision.stem[:4]}]({decision.name}) | {title} |"
    assert row in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()


@each_decision
def test_a_decision_names_tests_that_enforce_it(decision: Path) -> None:
    named = enforcing(decision)

    assert [path for path in named if path.startswith("tests/")] != []
    assert [path for path in named if not (ROOT / path).exists() and not (ROOT / "service" / path).exists()] == []
