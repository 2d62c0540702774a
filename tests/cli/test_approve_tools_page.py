"""`docs/howto/approve-tools.md` is executed as far as it needs no service, so that it can't go wrong in silence."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from service.cli.app import app
from service.cli.waiting_call import read_waiting_call
from service.config import load_settings
from service.core.approvals import denied_by, expired
from service.core.decision_signature import read_approver_keys
from service.core.records import ApprovalDecided, DecisionSignature, PendingCall

pytestmark = pytest.mark.rules("A5")

PAGE = (Path(__file__).parents[2] / "docs/howto/approve-tools.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Give the code blocks of this language."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    return found


def turnkeeper(line: str) -> Result:
    program, *words = shlex.split(line.partition(" > ")[0])
    assert program == "turnkeeper"
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result


@pytest.fixture
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.rules("A2", "A6")
def test_the_item_that_is_shown_has_all_fields_and_its_own_digest() -> None:
    (shown,) = blocks("json")

    (item,) = json.loads(shown)["items"]

    assert set(item) == set(PendingCall.__dataclass_fields__)
    assert read_waiting_call(shown, None).digest == item["digest"]


def test_the_lines_of_the_shell_make_a_key_and_sign_the_call_that_is_shown(in_an_empty_folder: Path) -> None:
    make, sign = blocks("sh")
    (in_an_empty_folder / "approvals.json").write_text(blocks("json")[0])

    keys = read_approver_keys(json.loads(turnkeeper(make).stdout))
    (decision,) = json.loads(turnkeeper(sign).stdout)["decisions"]

    assert decision["reason"] == "Not to that address."
    assert (
        keys.fault_of(
            decision["digest"], approved=False, arguments=None, signature=DecisionSignature(**decision["signature"])
        )
        is None
    )


@pytest.mark.parametrize("arguments", [None, '{"to": "Zoë"}'])
def test_the_program_that_is_shown_signs_as_the_service_checks(in_an_empty_folder: Path, arguments: str | None) -> None:
    keys = read_approver_keys(json.loads(turnkeeper(blocks("sh")[0]).stdout))
    defined: dict[str, Any] = {}
    exec(blocks("python")[0], defined)

    made = defined["signature"]((in_an_empty_folder / "alice.pem").read_bytes(), "alice", "sha256:0f", True, arguments)

    signature = DecisionSignature(**made)
    assert keys.fault_of("sha256:0f", approved=True, arguments=arguments, signature=signature) is None


@pytest.mark.rules("D1")
def test_the_settings_that_are_shown_are_the_same_in_both_forms(
    in_an_empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (in_an_empty_folder / "turnkeeper.toml").write_text(blocks("toml")[0])
    of_the_file = load_settings().approvers()
    variable = re.findall(r"^TURNKEEPER_APPROVER_KEYS='(.*)'$", PAGE, re.MULTILINE)
    monkeypatch.setenv("TURNKEEPER_APPROVER_KEYS", variable[0])

    assert load_settings().approvers() == of_the_file
    assert list(of_the_file.keys) == list(tomllib.loads(blocks("toml")[0])["approver_keys"])


@pytest.mark.rules("A3")
def test_the_texts_for_the_model_are_shown_as_they_are() -> None:
    plain = ApprovalDecided(call=1, approved=False, digest="", by="local")
    with_reason = ApprovalDecided(call=1, approved=False, digest="", by="local", reason="Not to that address.")

    for outcome in (denied_by(plain), denied_by(with_reason), expired()):
        assert f"`{outcome.text}`" in PAGE
