"""D2: `turnkeeper backup`: one line, one file, or a reason in one line and nothing."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.cli.app import app
from service.core.ids import SessionId
from tests.cli.stored_logs import run_sql, url_of, write_store

pytestmark = pytest.mark.rules("D2")

SAID = (
    r"turnkeeper: backed up 2 sessions and 0 readings up to pos 9, \d+ kB, {heads}; "
    r"not in it: the file of API keys, turnkeeper\.toml, the agents file, keys that sign\n"
)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    database = tmp_path / "store.db"
    write_store(database, (SessionId("ses_1"), 5), (SessionId("ses_2"), 4))
    return database


@pytest.fixture
def to(tmp_path: Path) -> Path:
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups" / "copy.db"


def turnkeeper(*words: str | Path, env: Mapping[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, list(map(str, words)), env=env, catch_exceptions=False)


def back_up(database: Path, to: Path, *words: str) -> Result:
    return turnkeeper("backup", to, *words, "--database-url", url_of(database))


def assert_refused(result: Result, message: str, to: Path) -> None:
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not to.exists()


@pytest.mark.rules("S3")
def test_it_says_where_the_backup_is_and_what_is_in_it_so_that_verify_can_tell_that_it_is_that_one(
    database: Path, to: Path
) -> None:
    result = back_up(database, to)

    assert (result.exit_code, result.stdout) == (0, f"{to}\n")
    verified = turnkeeper("verify", "--database-url", url_of(to))
    assert (verified.exit_code, len(verified.stdout.splitlines())) == (0, 2)
    heads = f"heads sha256:{sha256(verified.stdout.encode()).hexdigest()}"
    assert re.fullmatch(SAID.format(heads=heads), result.stderr)
    assert turnkeeper("verify", "--database-url", url_of(database)).stdout == verified.stdout


def test_logs_are_not_verified_when_that_is_not_wanted(database: Path, to: Path) -> None:
    run_sql(database, "UPDATE records SET hash = zeroblob(32)")

    result = back_up(database, to, "--no-verify")

    assert (result.exit_code, result.stdout) == (0, f"{to}\n")
    assert re.fullmatch(SAID.format(heads="logs not verified"), result.stderr)


@pytest.mark.rules("S3")
def test_wrong_logs_are_kept_and_told_by_the_exit_code(database: Path, to: Path) -> None:
    run_sql(database, "UPDATE records SET hash = zeroblob(32) WHERE seq = 3")

    result = back_up(database, to)

    assert (result.exit_code, result.stdout) == (1, f"{to}\n")
    wrong = f"turnkeeper: something is wrong in the logs, in the store as in {to}: turnkeeper verify says what"
    assert result.stderr.splitlines()[1:] == [wrong]
    assert run_sql(to, "SELECT count(*) FROM records") == [(9,)]


def test_a_file_that_is_there_is_replaced_by_force(database: Path, to: Path) -> None:
    to.write_text("mine")

    refused = back_up(database, to)
    assert (refused.exit_code, refused.stderr) == (1, f"turnkeeper: {to} is there already; --force replaces it\n")
    assert to.read_text() == "mine"
    assert back_up(database, to, "--force").exit_code == 0
    assert run_sql(to, "SELECT count(*) FROM records") == [(9,)]


def test_in_a_folder_the_backup_has_a_name_with_the_time(database: Path, to: Path) -> None:
    result = back_up(database, to.parent)

    assert re.fullmatch(rf"{to.parent}/store-\d{{8}}T\d{{6}}Z\.db\n", result.stdout)
    assert run_sql(Path(result.stdout.strip()), "SELECT count(*) FROM records") == [(9,)]


def test_a_store_that_is_none_is_refused_in_one_line(tmp_path: Path, to: Path) -> None:
    assert_refused(back_up(tmp_path / "none.db", to), f"there is no file {tmp_path / 'none.db'}", to)
    assert_refused(turnkeeper("backup", to, "--database-url", "memory:"), "memory: keeps nothing on disk", to)
    assert turnkeeper("backup").exit_code == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_nothing_and_is_told_in_one_line(
    database: Path, to: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        assert [path.suffix for path in to.parent.iterdir()] == [".part"]
        signal.raise_signal(number)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("service.adapters.log_sql.backup.refuse_damaged", interrupted)
    # A run of tests in the background of a shell ignores it.
    of_the_run = signal.signal(signal.SIGINT, signal.default_int_handler)

    try:
        result = back_up(database, to)
    finally:
        signal.signal(signal.SIGINT, of_the_run)

    assert (result.exit_code, result.stderr) == (130, "turnkeeper: interrupted; there is no backup\n")
    assert list(to.parent.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is before
