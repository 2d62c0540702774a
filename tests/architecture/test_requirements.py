"""Each rule has a test or is a known gap, and each test names rules that exist.

Marks are read from the source, so that a module that can't be imported here still counts.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.requirements import KNOWN_GAPS, RULES

TESTS = Path(__file__).parent.parent


def ids_in(source: str) -> Iterator[str]:
    """Yield the arguments of each `pytest.mark.rules(...)`, on a function, a class or a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rules":
            for argument in node.args:
                text = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                yield str(ast.literal_eval(argument)) if text else ast.unparse(argument)


def covered() -> dict[str, set[str]]:
    """Return each id that a test names, with the files that name it."""
    files: dict[str, set[str]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        for rule in ids_in(path.read_text(encoding="utf-8")):
            files.setdefault(rule, set()).add(str(path.relative_to(TESTS)))
    return files


def test_each_rule_has_a_test_or_is_a_known_gap() -> None:
    assert sorted(RULES.keys() - covered().keys() - KNOWN_GAPS.keys()) == []


def test_each_test_names_rules_that_exist() -> None:
    unknown = {rule: files for rule, files in covered().items() if rule not in RULES}

    assert unknown == {}


def test_each_known_gap_is_a_rule_and_has_a_reason() -> None:
    assert [rule for rule in KNOWN_GAPS if rule not in RULES] == []
    assert [rule for rule, reason in KNOWN_GAPS.items() if not reason.strip()] == []


@pytest.mark.parametrize(
    ("source", "ids"),
    [
        ('@pytest.mark.rules("T4", "L5")\ndef test_a() -> None: ...', ["T4", "L5"]),
        ('pytestmark = [pytest.mark.anyio, pytest.mark.rules("H6")]', ["H6"]),
        ('pytest.param(1, marks=pytest.mark.rules("X1"))', ["X1"]),
        ("pytestmark = pytest.mark.rules(RULE)", ["RULE"]),
        ("pytestmark = pytest.mark.anyio", []),
    ],
)
def test_marks_are_found_wherever_they_stand(source: str, ids: list[str]) -> None:
    assert list(ids_in(source)) == ids
