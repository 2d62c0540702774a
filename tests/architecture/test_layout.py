"""The rules of the house that no linter knows."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
LONGEST_FILE_LINES = 350
# Modules named so collect what has no place; the noun that they define is missing.
NAMELESS = re.compile(r"(^|_)(utils?|helpers?|common|misc|managers?)(_|$)")
# Hosts of package indexes, and options that name one or a folder in its place.
INDEX = re.compile(
    r"(pypi|pythonhosted|npmjs|debian)\.(org|com)\b|--(extra-)?index-url\b|--find-links\b|\bfile:///\S*(pypi|simple|wheel)",
    re.IGNORECASE,
)

# Sleeping for 0 only lets other tasks run.
SLEEP = re.compile(r"(time|asyncio|anyio)\.sleep\((?!0\))")
PERSONAL_FOLDER = re.compile(r"(?<![\w.])/(?:root|home/\w+|Users/\w+)/")


def modules() -> Iterator[Path]:
    yield from sorted((ROOT / "service").rglob("*.py"))


def tracked_files() -> list[Path]:
    """Return what is or would be committed; in a copy without git, all that isn't a hidden folder."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0:
        paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    else:
        paths = [p for p in ROOT.rglob("*") if not any(part.startswith(".") for part in p.relative_to(ROOT).parts)]
    return [path for path in paths if path.is_file()]


def test_no_module_is_longer_than_the_bound() -> None:
    lengths = {str(m.relative_to(ROOT)): len(m.read_text(encoding="utf-8").splitlines()) for m in modules()}

    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE_LINES} == {}


def test_each_module_is_named_by_what_it_defines() -> None:
    parts = {part for m in modules() for part in m.relative_to(ROOT).with_suffix("").parts}

    assert [part for part in sorted(parts) if NAMELESS.search(part.lower())] == []


@pytest.mark.parametrize("name", ["utils", "http_utils", "helper", "common", "session_manager", "managers"])
def test_a_name_that_says_nothing_is_found(name: str) -> None:
    assert NAMELESS.search(name)


@pytest.mark.parametrize("name", ["commons_licence", "utilisation", "management", "turn"])
def test_a_name_that_only_looks_like_one_is_not(name: str) -> None:
    assert not NAMELESS.search(name)


@pytest.mark.parametrize("pattern", [INDEX, PERSONAL_FOLDER], ids=["index", "folder"])
def test_no_file_names_a_package_index_or_a_folder_of_one_machine(pattern: re.Pattern[str]) -> None:
    named = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked_files()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]

    assert named == []


@pytest.mark.parametrize("line", ["--index-url X", "-f file:///wheels", "from files.pythonhosted.org"])
def test_the_address_of_an_index_is_found(line: str) -> None:
    assert INDEX.search(line)


def sleeps_in(source: str) -> list[int]:
    """Return the lines where a test itself sleeps; a fake inside it may, to pace what it sends."""
    tests = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]
    return [call.lineno for test in tests for call in calls_of(test) if SLEEP.match(ast.unparse(call))]


def calls_of(function: ast.AST) -> Iterator[ast.Call]:
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Call):
            yield node
        yield from calls_of(node)


def test_no_test_sleeps() -> None:
    sleeping = {
        str(path.relative_to(ROOT)): lines
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if (lines := sleeps_in(path.read_text(encoding="utf-8")))
    }

    assert sleeping == {}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("await asyncio.sleep(0.1)", [2]),
        ("await anyio.sleep(delay)", [2]),
        ("await asyncio.sleep(0)", []),
        ("async def fake(): await asyncio.sleep(0.1)", []),
    ],
)
def test_a_sleep_is_found_in_a_test_and_left_to_its_fakes(body: str, found: list[int]) -> None:
    assert sleeps_in(f"async def test_it() -> None:\n    {body}\n") == found
