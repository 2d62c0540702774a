"""Each setting is explained: in one group, with a reason, in the example, in the schema and on the page (D1)."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

import jsonschema_rs
import pytest

from docs.setting_rows import settings_page
from service.config import Settings, load_settings
from service.config.catalogue import CATALOGUE
from service.config.example_file import EXAMPLES, example_file
from service.config.setting_words import described, settings_schema

pytestmark = pytest.mark.rules("D1")

SETTINGS = list(Settings.model_fields)
LINE = re.compile(r"^#([a-z_]+ = .*)$", re.MULTILINE)
# What is written there is no secret, so that nobody takes it for one.
NO_SECRET = "tool_port_secret"


def uncommented() -> dict[str, object]:
    return tomllib.loads("\n".join(LINE.findall(example_file())))


def test_each_setting_is_in_one_group_and_nothing_else_is() -> None:
    assert Counter(name for group in CATALOGUE for name in group.reasons) == Counter(SETTINGS)


@pytest.mark.parametrize("name", SETTINGS)
def test_each_setting_says_what_it_is_and_why_its_default_is_what_it_is(name: str) -> None:
    (reason,) = [group.reasons[name] for group in CATALOGUE if name in group.reasons]

    assert re.fullmatch(r"[A-Z].{8,}\.", described(name))
    assert re.fullmatch(r"\S.{8,}[^.]", reason)


@pytest.mark.parametrize("name", [name for name in SETTINGS if re.search(r"_(ms|s|bytes|tokens|days)$", name)])
def test_a_number_with_a_unit_has_a_least_value(name: str) -> None:
    assert "minimum" in settings_schema()["properties"][name]


def test_the_example_as_it_is_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = load_settings()
    (tmp_path / "turnkeeper.toml").write_text(example_file(), encoding="utf-8")

    assert load_settings() == before


def test_each_line_of_the_example_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for line in LINE.findall(example_file()) if not line.startswith(NO_SECRET)]
    defaults = load_settings()
    (tmp_path / "turnkeeper.toml").write_text("\n".join(lines), encoding="utf-8")
    settings = load_settings()

    assert set(uncommented()) == set(SETTINGS)
    assert {name for name in SETTINGS if getattr(settings, name) != getattr(defaults, name)} == {*EXAMPLES} - {
        NO_SECRET
    }


def test_the_schema_takes_the_example_and_refuses_what_the_service_would() -> None:
    schema = jsonschema_rs.validator_for(settings_schema())

    assert schema.is_valid(uncommented())
    for wrong in ({"port": 70_000}, {"tool_iterations": "8"}, {"compact_at": 0.01}, {"colour": "red"}):
        assert not schema.is_valid(wrong)


def test_the_page_has_a_row_for_each_setting() -> None:
    rows = re.findall(r"^\| `([a-z_]+)`<br>`TURNKEEPER_([A-Z_]+)` \|", settings_page(), re.MULTILINE)

    assert Counter(rows) == Counter((name, name.upper()) for name in SETTINGS)
