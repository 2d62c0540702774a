"""The page of `turnkeeper doctor` has each finding once, with its severity, below its part."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from service.core.diagnosis.findings import Code, Part

pytestmark = pytest.mark.rules("D2")

PAGE = Path(__file__).parent.parent.parent / "docs" / "howto" / "find-what-is-wrong.md"
PARTS = {
    "Store": Part.STORE,
    "llama-server": Part.LLAMA_SERVER,
    "Tool port": Part.TOOL_PORT,
    "Service and settings": Part.SERVICE,
}
ROW = re.compile(r"^\| `([a-z0-9_]+)` \| (ok|warning|wrong) \| (.+) \| (.+) \|$", re.MULTILINE)


def rows() -> list[tuple[str, str, str]]:
    """Give part, code and severity of each row."""
    sections = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return [
        (PARTS[title], code, severity)
        for title, text in zip(sections[::2], sections[1::2], strict=True)
        for code, severity, _, _ in ROW.findall(text)
    ]


def test_each_finding_is_on_the_page_once_with_its_part_and_severity() -> None:
    assert sorted(rows()) == sorted((code.part, code.word, code.severity) for code in Code)


def test_the_codes_in_the_example_are_real() -> None:
    named = re.findall(r"\[([a-z_0-9]+)\]$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert named
    assert set(named) <= {code.word for code in Code}
