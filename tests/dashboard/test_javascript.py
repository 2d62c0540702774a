"""The tests of the dashboard's own modules, run by node: one of its test files is one test here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.dashboard.node import node_program

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*.test.mjs"))


def test_there_are_tests_to_run() -> None:
    assert FILES != []


@pytest.mark.timeout(180)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.removesuffix(".test.mjs"))
def test_the_modules_of_the_dashboard_do_what_their_tests_say(file: Path) -> None:
    command = [node_program(), "--test", "--test-reporter=spec", str(file)]

    ended = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False, timeout=170)

    assert ended.returncode == 0, f"\n{ended.stdout}\n{ended.stderr}"
