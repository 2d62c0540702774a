"""Each failure seen elsewhere has a test or waits for a named part, and each test names cases that exist.

Marks are read from the source, so that a module that can't be imported here still counts.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.requirements import CASES, OPEN_CASES

TESTS = Path(__file__).parent.parent


def numbers_in(source: str) -> Iterator[object]:
    """Yield the arguments of each `pytest.mark.cases(...)`; what is no number is given as its source."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.cases":
            for argument in node.args:
                number = isinstance(argument, ast.Constant) and type(argument.value) is int
                yield ast.literal_eval(argument) if number else ast.unparse(argument)


def shown() -> dict[object, set[str]]:
    """Return each number that a test names, with the files that name it."""
    files: dict[object, set[str]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        for number in numbers_in(path.read_text(encoding="utf-8")):
            files.setdefault(number, set()).add(str(path.relative_to(TESTS)))
    return files


def test_each_case_has_a_test_or_is_open() -> None:
    assert sorted(CASES.keys() - shown().keys() - OPEN_CASES.keys()) == []


def test_each_test_names_cases_that_exist() -> None:
    unknown = {number: files for number, files in shown().items() if number not in CASES}

    assert unknown == {}


def test_each_open_case_is_a_case_and_says_what_it_waits_for() -> None:
    assert [number for number in OPEN_CASES if number not in CASES] == []
    assert [number for number, reason in OPEN_CASES.items() if not reason.strip()] == []
    assert sorted(CASES) == list(range(1, 29))


@pytest.mark.parametrize(
    ("source", "numbers"),
    [
        ("@pytest.mark.cases(2, 26)\ndef test_a() -> None: ...", [2, 26]),
        ("pytestmark = [pytest.mark.anyio, pytest.mark.cases(3)]", [3]),
        ('@pytest.mark.cases("3", N)\ndef test_a() -> None: ...', ["'3'", "N"]),
        ("pytestmark = pytest.mark.anyio", []),
    ],
)
def test_marks_are_found_wherever_they_stand(source: str, numbers: list[object]) -> None:
    assert list(numbers_in(source)) == numbers
