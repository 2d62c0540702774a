"""The program of today starts on the store of each earlier schema, serves what is in it, and goes on (S6)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.log_sql.old_databases import ENDED, database_of
from tests.cases.replies import say
from tests.cases.strict_llama import StrictLlama
from tests.cli.whole_program import PATIENCE_S, running
from tests.web.serving import frames_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("S6", "D2")]


@pytest.fixture(params=ENDED, ids=lambda path: path.stem)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return database_of(request.param, tmp_path)


async def test_an_old_store_is_served_and_a_session_of_it_goes_on(url: str, tmp_path: Path) -> None:
    async with StrictLlama(say("And on.")) as llama, running(tmp_path, llama.url) as program:
        sessions = (await program.http.get("/sessions")).json()["items"]
        (old,) = [session for session in sessions if session["title"] == "Grüße"]
        path = f"/sessions/{old['id']}"
        turns = (await program.http.get(f"{path}/turns")).json()["items"]
        async with program.http.stream("GET", f"{path}/turns/{turns[0]['id']}/events") as response:
            replayed = [frame.field("event") async for frame in frames_of(response)]
        turn = await program.finish(await program.start(path, "Still there?"))
        program.process.terminate()
        await program.end(PATIENCE_S)
    checked = subprocess.run(  # noqa: ASYNC221 - nothing else runs here
        [sys.executable, "-m", "service", "verify", "--database-url", url],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )

    assert len(turns) == 4
    assert turns[0]["content"] == "It rains, and there is news."
    assert replayed[-1] == "turn_finished"
    assert (turn["outcome"], turn["content"], llama.refusals) == ("answered", "And on.", [])
    assert (checked.returncode, checked.stderr.count("nothing wrong")) == (0, 1), checked.stderr
