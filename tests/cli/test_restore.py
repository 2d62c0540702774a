"""D2: `turnkeeper backup` beside the whole program, and `turnkeeper restore` of what it had."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from service.cli.app import app
from service.cli.restore import warning_about_owner
from service.core.ids import SessionId
from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort, open_spec
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cli.commands_run import run_command
from tests.cli.stored_logs import run_sql, url_of, write_store
from tests.cli.whole_program import PATIENCE_S, Program, running
from tests.web.serving import Frame, frames_of, within_bound

pytestmark = pytest.mark.rules("D2")

HELD = "once"


async def stop(program: Program) -> None:
    program.process.send_signal(signal.SIGTERM)
    assert await program.end(PATIENCE_S) == 0


async def first_event(http: httpx.AsyncClient, path: str, cursor: int) -> Frame:
    """Come back to a stream with a cursor, and give the first event of it."""
    async with asyncio.timeout(PATIENCE_S), http.stream("GET", path, headers={"Last-Event-ID": str(cursor)}) as stream:
        async for frame in frames_of(stream):
            if frame.field("event") is not None:
                return frame
    raise AssertionError("the stream ended without an event")


async def say_in_full(program: Program, session: str, content: str) -> JsonObject:
    return await program.finish(await program.start(session, content))


@pytest.mark.anyio
@pytest.mark.rules("S2", "S3", "S4", "H6")
@pytest.mark.timeout(180)
async def test_after_a_restore_the_old_state_is_there_and_what_was_unfinished_goes_on(tmp_path: Path) -> None:
    store, copy = tmp_path / "store.db", tmp_path / "copy.db"
    llama, port = StrictLlama(), FakePort(open_spec(HELD))
    port.held = {HELD}
    llama.play("Hello", say("Hi."), ask_for(Call(name=HELD)), say("It ran."), say("It went on."), say("A third."))
    llama.play("Hello again", say("Hi again."))
    async with llama, port:
        async with running(tmp_path, llama.url, port.url) as program:
            kept = await program.session()
            assert (await say_in_full(program, kept, "Hello"))["content"] == "Hi."
            unfinished = await program.start(kept, "Run it")
            await within_bound(port.arrived)
            before = await program.records(kept)

            backed_up = await run_command(store, "backup", copy)

            port.release.set()
            assert (await program.finish(unfinished))["content"] == "It ran."
            lost = await program.session()
            await say_in_full(program, lost, "Hello again")
            last = (await program.records(lost))[-1]["pos"]
            refused = await run_command(store, "restore", copy, "--replace")
            await stop(program)
        in_the_way = await run_command(store, "restore", copy)
        restored = await run_command(store, "restore", copy, "--replace")
        async with running(tmp_path, llama.url, port.url) as program:
            told = await first_event(program.http, f"{kept}/events", last)
            gone = await program.http.get(lost)
            went_on = await program.finish(unfinished)
            after = await program.records(kept)
            third = await say_in_full(program, kept, "And now?")
            told_late = await first_event(program.http, f"{kept}/events", last)
            verified = await run_command(store, "verify")
            await stop(program)

    assert (backed_up.code, backed_up.stdout) == (0, f"{copy}\n")
    assert "backed up 1 session and 0 readings" in backed_up.stderr
    assert (refused.code, "in use by another process" in refused.stderr) == (1, True)
    assert refused.stderr.endswith("; stop the service first\n")
    assert (in_the_way.code, in_the_way.stderr) == (
        1,
        f"turnkeeper: {store} is there already; --replace sets it aside\n",
    )
    assert (restored.code, restored.stdout) == (0, f"{store}\n")
    assert gone.status_code == 404
    # Also a client that comes back when the store has grown is told.
    assert {told.field("event"), told_late.field("event")} == {"resync"}
    assert told.data["last_pos"] <= after[-1]["pos"] < told_late.data["last_pos"]
    # The call's outcome is unknown to this state of the store, so it isn't sent again, and the model is told so.
    assert after[: len(before)] == before
    rest = [record["type"] for record in after[len(before) :]]
    assert rest == ["resumed", "tool_result", "assistant", "usage", "turn_finished"]
    assert after[len(before) + 1]["status"] == "interrupted"
    assert (went_on["content"], len(port.calls)) == ("It went on.", 1)
    assert (third["outcome"], third["content"]) == ("answered", "A third.")
    assert (verified.code, verified.stderr) == (0, "turnkeeper: 1 log checked, nothing wrong in them\n")
    _, _, aside = restored.stderr.strip().partition("; what was there is ")
    assert run_sql(Path(aside), "SELECT count(*) FROM sessions") == [(2,)]
    assert llama.refusals == []


@pytest.mark.parametrize(("backup", "message"), [("none.db", "there is no file"), ("text.db", "damaged")])
def test_what_is_no_backup_is_refused_in_one_line(tmp_path: Path, backup: str, message: str) -> None:
    (tmp_path / "text.db").write_text("no database at all, but long enough to be one " * 50)
    store = tmp_path / "store.db"
    write_store(store, (SessionId("ses_1"), 4))

    words = ["restore", str(tmp_path / backup), "--replace", "--database-url"]
    refused = CliRunner().invoke(app, [*words, url_of(store)], catch_exceptions=False)
    in_memory = CliRunner().invoke(app, [*words, "memory:"], catch_exceptions=False)

    assert (refused.exit_code, refused.stdout, len(refused.stderr.splitlines())) == (1, "", 1)
    assert message in refused.stderr
    assert in_memory.stderr == "turnkeeper: memory: keeps nothing on disk; name a store with sqlite:///FILE\n"
    assert run_sql(store, "SELECT id FROM sessions") == [("ses_1",)]


def test_an_interruption_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, copy = tmp_path / "store.db", tmp_path / "copy.db"
    write_store(copy, (SessionId("ses_1"), 4))

    def interrupted(*_: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("service.adapters.log_sql.restore.bring_copy_up_to_date", interrupted)
    words = ["restore", str(copy), "--database-url", url_of(store)]
    result = CliRunner().invoke(app, words, catch_exceptions=False)

    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "turnkeeper: interrupted; the store is as it was, or the restored one as a whole\n"
    assert [path.name for path in tmp_path.glob("*store.db*")] == ["store.db.lock"]


@pytest.mark.parametrize(("owner", "folder_owner", "warns"), [(0, 1000, True), (0, 0, False), (1000, 1000, False)])
def test_root_is_told_what_a_service_of_another_user_could_not_open(owner: int, folder_owner: int, warns: bool) -> None:
    warning = warning_about_owner(Path("/data/store.db"), owner=owner, folder_owner=folder_owner)

    assert (warning is not None) == warns
    assert warning is None or "chown --reference=/data /data/store.db /data/store.db.lock" in warning
