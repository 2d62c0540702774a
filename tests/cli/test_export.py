"""`turnkeeper export`: the log of a session or a reading, as the API shows it, from the store itself (D2)."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.cli.app import app
from service.core.ids import SessionId
from tests.adapters.log_sql.old_databases import ENDED, database_of
from tests.cases.replies import say
from tests.cases.strict_llama import StrictLlama
from tests.cli.commands_run import run_command
from tests.cli.stored_logs import url_of, write_store
from tests.cli.whole_program import running

pytestmark = pytest.mark.rules("D2")

MORE_THAN_A_PAGE = 450


@pytest.fixture(scope="module")
def long_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    database = tmp_path_factory.mktemp("stores") / "long.db"
    write_store(database, (SessionId("ses_1"), MORE_THAN_A_PAGE), (SessionId("ses_2"), 9))
    return database


def export(url: str, *words: str) -> Result:
    return CliRunner().invoke(app, ["export", "--database-url", url, *words], catch_exceptions=False)


@pytest.mark.anyio
async def test_the_lines_are_those_of_the_api_also_beside_the_service(tmp_path: Path) -> None:
    odd = "One line\u2028for\u0085all 😀"
    async with StrictLlama(say(odd)) as llama, running(tmp_path, llama.url) as program:
        session = await program.session()
        await program.finish(await program.start(session, odd))
        shown = await program.http.get(f"{session}/records", headers={"Accept": "application/x-ndjson"})
        ended = await run_command(tmp_path / "store.db", "export", session.removeprefix("/sessions/"))

    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout == shown.text
    assert [json.loads(line)["seq"] for line in ended.stdout.splitlines()] == [1, 2, 3, 4, 5]


def test_a_log_of_many_pages_is_whole(long_store: Path) -> None:
    result = export(url_of(long_store), "ses_1")

    assert [json.loads(line)["seq"] for line in result.stdout.splitlines()] == list(range(1, MORE_THAN_A_PAGE + 1))


def test_a_reading_is_exported_too(tmp_path: Path) -> None:
    result = export(database_of(ENDED[-1], tmp_path), "rdg_000001")
    records = [json.loads(line) for line in result.stdout.splitlines()]

    assert [record["seq"] for record in records] == list(range(1, 21))
    assert records[0]["type"] == "reading_created"
    assert {record["reading"] for record in records} == {"rdg_000001"}


def test_a_file_is_for_its_owners_eyes_and_replaces_another_only_when_it_is_whole(
    long_store: Path, tmp_path: Path
) -> None:
    file = tmp_path / "log.ndjson"
    file.write_text("before")
    assert export(url_of(long_store), "ses_3", "--output", str(file)).exit_code == 1
    assert file.read_text() == "before"

    result = export(url_of(long_store), "ses_2", "--output", str(file))

    assert (result.exit_code, result.stdout) == (0, "")
    assert file.read_text() == export(url_of(long_store), "ses_2").stdout
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("url", "words", "code", "said"),
    [
        ("", ["ses_9"], 1, "there is no session or reading ses_9"),
        ("", ["ses_\x1b[31m"], 1, "there is no session or reading ses_\\u001b[31m"),
        ("", ["ses_2", "--output", "nowhere/log"], 1, "nowhere/log can't be written: No such file or directory"),
        ("sqlite:///nowhere.db", ["ses_1"], 2, "there is no file"),
        ("memory:", ["ses_1"], 2, "keeps nothing on disk"),
    ],
)
def test_what_can_not_be_done_is_told_in_one_line(
    long_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, words: list[str], code: int, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = export(url or url_of(long_store), *words)

    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_reader_that_has_enough_ends_it_without_a_word(long_store: Path) -> None:
    command = [sys.executable, "-m", "service", "export", "--database-url", url_of(long_store), "ses_1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("{")
        process.stdout.close()
        assert process.stderr.read() == ""


def test_a_log_of_an_older_schema_that_can_be_read_is_exported_as_it_is(tmp_path: Path) -> None:
    before = shutil.copy(ENDED[2], tmp_path / "dump.sql")
    result = export(database_of(Path(before), tmp_path), "ses_000001")

    assert len(result.stdout.splitlines()) == 29
