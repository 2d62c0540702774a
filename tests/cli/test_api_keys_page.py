"""`docs/howto/api-keys.md` is executed, so that it can't go wrong in silence."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from service.bootstrap import open_keys
from service.cli.app import app
from service.core.api_keys import hash_of
from service.core.callers import Caller, Scope
from service.core.ids import OwnerId

pytestmark = pytest.mark.rules("K3", "D2")

PAGE = (Path(__file__).parents[2] / "docs/howto/api-keys.md").read_text(encoding="utf-8")


def lines_of_the_shell() -> list[str]:
    """Give what is typed, line by line."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines()]


def turnkeeper(line: str) -> str:
    program, *words = shlex.split(line)
    assert program == "turnkeeper"
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout.strip()


def test_the_lines_of_the_shell_do_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNKEEPER_API_KEYS_FILE", "keys.json")
    laptop, bot, phone, listed, rotated, _ = (turnkeeper(line) for line in lines_of_the_shell())

    keys = open_keys(tmp_path / "keys.json")
    both = frozenset({Scope.TURNS, Scope.APPROVE})
    assert keys.caller(laptop) == Caller(name="laptop", owner=OwnerId("laptop"), scopes=both)
    assert keys.caller(rotated) == Caller(name="shop-bot", owner=OwnerId("shop"), scopes=frozenset({Scope.TURNS}))
    assert [keys.caller(ended) for ended in (bot, phone)] == [None, None]
    assert [line.split()[0] for line in listed.splitlines()] == ["name", "laptop", "shop-bot", "shop-phone"]
    kept = json.loads((tmp_path / "keys.json").read_text())["keys"]
    assert [entry["sha256"] for entry in kept] == [hash_of(laptop), hash_of(rotated)]


def test_the_key_that_is_shown_looks_like_one() -> None:
    assert re.search(r"^tk_[a-z2-7]{8}_[A-Za-z0-9_-]{43}$", PAGE, re.MULTILINE)


def test_the_table_of_scopes_leaves_none_out() -> None:
    assert re.findall(r"^\| `([a-z]+)` \|", PAGE, re.MULTILINE) == [scope.value for scope in Scope]
