"""A5: `turnkeeper verify` looks at what people decided, and at who signed it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.cli.app import app
from service.core.ed25519_keys import base64url
from service.core.ids import SessionId
from tests.cli.stored_logs import run_sql, url_of, write_logs
from tests.core.approved_logs import BOB, KEYS, asked, decided, log_of, pending, sent
from tests.core.written_logs import Log

pytestmark = pytest.mark.rules("A5", "S3", "D2")

SIGNED, UNSIGNED = SessionId("ses_1"), SessionId("ses_2")
ALL_KEYS = json.dumps({name: base64url(key) for name, key in KEYS.keys.items()})
NOT_SIGNED = "it is not signed, and approver_keys is set, so that each decision needs a signature"
HINT = (
    "for decisions made before approver_keys was set say --unsigned-before TIME; for those signed with keys that are "
    "out of use set TURNKEEPER_APPROVER_KEYS to all keys, old and new, for this check"
)


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a store with a session whose decision is signed and one whose decision is not, both of 2030-01-02."""
    monkeypatch.chdir(tmp_path)
    write_logs(tmp_path / "store.db", decided_log(SIGNED), decided_log(UNSIGNED, signed=False))
    return tmp_path / "store.db"


def decided_log(session: SessionId, *, signed: bool = True) -> Log:
    call = pending(1, session=session)
    decision = decided(call) if signed else decided(call, by=None)
    return log_of(asked(call), decision, sent(1), session=session)


def verify(database: Path, *arguments: str, keys: str | None = None) -> Result:
    env: Mapping[str, str] = {} if keys is None else {"TURNKEEPER_APPROVER_KEYS": keys}
    words = ["verify", "--database-url", url_of(database), *arguments]
    return CliRunner().invoke(app, words, env=env, catch_exceptions=False)


def said(result: Result) -> list[str]:
    return [line.removeprefix("turnkeeper: ") for line in result.stderr.splitlines()]


def test_without_keys_signatures_are_not_looked_at(database: Path) -> None:
    result = verify(database)

    assert (result.exit_code, said(result)) == (0, ["2 logs checked, nothing wrong in them"])


def test_with_keys_an_unsigned_decision_is_wrong_and_the_way_out_is_told(database: Path) -> None:
    result = verify(database, keys=ALL_KEYS)

    assert result.exit_code == 1
    assert said(result) == [
        f"ses_2: seq 3: the decision on call 1 does not hold: {NOT_SIGNED} (signature)",
        HINT,
        "2 logs checked, 1 of them wrong",
    ]


@pytest.mark.parametrize(
    ("time", "exit_code"),
    [("2030-01-03", 0), ("2030-01-02T00:00:01Z", 0), ("2030-01-02T01:00:00+02:00", 1), ("2030-01-02", 1)],
)
def test_decisions_from_before_keys_were_set_may_be_unsigned(database: Path, time: str, exit_code: int) -> None:
    assert verify(database, "--unsigned-before", time, keys=ALL_KEYS).exit_code == exit_code


def test_a_time_that_is_none_is_wrong_use(database: Path) -> None:
    result = verify(database, "--unsigned-before", "yester\u202eday", keys=ALL_KEYS)

    assert result.exit_code == 2
    assert said(result) == ["--unsigned-before yester\\u202eday is no time; write 2030-01-31 or 2030-01-31T12:00:00Z"]


def test_the_keys_of_the_settings_file_count_and_the_environment_replaces_them_for_one_check(database: Path) -> None:
    bob = base64url(BOB.public_key().public_bytes_raw())
    database.with_name("turnkeeper.toml").write_text(f'[approver_keys]\nbob = "{bob}"\n')

    (line, *_) = said(verify(database, SIGNED))

    assert line.startswith(f'{SIGNED}: seq 3: the decision on call 1 does not hold: it is signed with the key "alice"')
    assert verify(database, SIGNED, keys=ALL_KEYS).exit_code == 0


def test_keys_that_are_none_are_told_in_one_line(database: Path) -> None:
    result = verify(database, keys='{"alice": "short"}')

    assert result.exit_code == 2
    assert "TURNKEEPER_APPROVER_KEYS" in result.stderr
    assert len(said(result)) == 1


def test_a_question_that_was_changed_after_it_was_answered_is_found_without_keys_and_kept_heads(
    tmp_path: Path,
) -> None:
    """Somebody changes what was asked, and hashes the log anew; the digest that was decided on tells."""
    call = pending(1, session=SIGNED)
    other = pending(1, session=SIGNED, arguments='{"to": "all"}', digest=call.digest)
    write_logs(tmp_path / "store.db", log_of(asked(other), decided(call), sent(1), session=SIGNED))

    result = verify(tmp_path / "store.db")

    assert result.exit_code == 1
    assert said(result)[0] == ("ses_1: seq 2: the digest of call 1 is not that of the call that is shown (approval)")


def test_a_log_with_approvals_is_wrong_at_its_first_fault_whatever_that_is(database: Path) -> None:
    run_sql(database, "UPDATE records SET body = x'7b7d' WHERE seq = 2 AND session_key = 2")

    (line, *more) = said(verify(database, UNSIGNED, keys=ALL_KEYS))

    assert line.startswith("ses_2: seq 2: ")
    assert HINT not in more
