"""D2: `turnkeeper chat` in a pipe: one message in, the answer alone out, and an exit code for each end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog
from typer.testing import CliRunner, Result

from service.cli.app import app
from service.cli.logs import be_silent
from service.core.json_types import JsonObject
from tests.cases.fake_port import FakePort, open_spec
from tests.cases.replies import Call, Reply, ask_for, refuse, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import WholeService, service_over
from tests.cli.whole_program import PATIENCE_S
from tests.web.serving import within_bound

pytestmark = [pytest.mark.anyio, pytest.mark.rules("D2")]

PAY = ask_for(Call(name="pay", arguments='{"to": "Ann \u202e"}'))


@pytest.fixture(autouse=True)
def no_log_lines() -> Iterator[None]:
    """Keep the service's own log lines out of what the command prints: here both are in one process."""
    before = structlog.get_config()
    be_silent()
    yield
    structlog.configure(**before)


def turnkeeper(*arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, ["chat", *arguments], input=stdin, env=env, catch_exceptions=False)


@dataclass
class Talker:
    """A service, and who talks through it."""

    service: WholeService
    llama: StrictLlama

    async def chat(self, *arguments: str, stdin: bytes = b"Hello\n") -> Result:
        async with asyncio.timeout(PATIENCE_S):
            url = str(self.service.served.http.base_url)
            return await asyncio.to_thread(turnkeeper, *arguments, "--url", url, stdin=stdin)

    async def sessions(self) -> list[JsonObject]:
        return (await self.service.served.http.get("/sessions")).json()["items"]

    async def only_session(self) -> JsonObject:
        (session,) = await self.sessions()
        return session


@asynccontextmanager
async def talking(store: Path, *script: Reply, **settings: Any) -> AsyncGenerator[Talker]:
    port = FakePort(open_spec("clock"), open_spec("pay", needs_approval=True))
    async with (
        StrictLlama(*script) as llama,
        port,
        service_over(store, llama, port, **settings) as service,
    ):
        yield Talker(service, llama)
    assert llama.refusals == []


def said(result: Result) -> list[str]:
    """Give the lines on standard error, without the name that they begin with."""
    assert "Traceback" not in result.stderr
    assert all(line.startswith("turnkeeper: ") for line in result.stderr.splitlines())
    return [line.removeprefix("turnkeeper: ") for line in result.stderr.splitlines()]


async def test_the_answer_alone_is_printed_and_the_session_is_named_beside_it(tmp_path: Path) -> None:
    async with talking(
        tmp_path, ask_for(Call(name="clock"), text="One moment."), say("It is noon.", thought="So.")
    ) as talker:
        result = await talker.chat()
        session = await talker.only_session()

    assert (result.exit_code, result.stdout) == (0, "It is noon.\n")
    assert said(result) == [f"session {session['id']}"]


async def test_all_of_standard_input_is_one_message(tmp_path: Path) -> None:
    async with talking(tmp_path, say("Yes.")) as talker:
        await talker.chat(stdin="Zwei\n\nZeilen: ü\n\n".encode())

    assert talker.llama.asked[0].messages[-1]["content"] == "Zwei\n\nZeilen: ü"


@pytest.mark.rules("K5")
async def test_the_answer_steers_no_terminal(tmp_path: Path) -> None:
    async with talking(tmp_path, say("Dür\tLöwe\r\n\x1b]0;owned\x07 \u202edne.")) as talker:
        result = await talker.chat()

    assert result.stdout == "Dür\tLöwe\n\\u001b]0;owned\\u0007 \\u202edne.\n"
    assert not {"\x1b", "\r", "\x07"} & set(result.output)


async def test_what_is_asked_for_reaches_the_session(tmp_path: Path) -> None:
    async with talking(tmp_path, say("Yes.")) as talker:
        await talker.chat("--system", "Be brief.", "--title", "A talk")
        session = await talker.only_session()

    assert (session["title"], session["baseline"]["system"].startswith("Be brief.")) == ("A talk", True)


async def test_an_agent_that_there_is_none_of_is_said_in_one_line(tmp_path: Path) -> None:
    async with talking(tmp_path, say("Yes.")) as talker:
        result = await talker.chat("--agent", "nobody")

    (line,) = said(result)
    assert (result.exit_code, result.stdout, "nobody" in line) == (1, "", True)


async def test_a_session_is_gone_on_with(tmp_path: Path) -> None:
    async with talking(tmp_path, say("First."), say("Second.")) as talker:
        await talker.chat(stdin=b"One")
        session = (await talker.only_session())["id"]
        result = await talker.chat("--session", session, stdin=b"Two")
        sessions = await talker.sessions()

    assert (result.exit_code, result.stdout, len(sessions)) == (0, "Second.\n", 1)
    assert [message["content"] for message in talker.llama.asked[-1].messages[-3:]] == ["One", "First.", "Two"]


async def test_a_session_that_there_is_none_of_is_said_in_one_line(tmp_path: Path) -> None:
    async with talking(tmp_path, say("Yes.")) as talker:
        unknown = await talker.chat("--session", "ses_none")
        no_id = await talker.chat("--session", "../approvals")

    for result in (unknown, no_id):
        (line,) = said(result)
        assert (result.exit_code, result.stdout) == (1, "")
        assert line.isprintable()
    assert "ses_none" in said(unknown)[0]


async def test_a_session_that_is_busy_refuses(tmp_path: Path) -> None:
    held = asyncio.Event()
    async with talking(tmp_path, say("Slow.", hold=held)) as talker:
        session = await talker.service.session()
        turn = await talker.service.start(session)
        result = await talker.chat("--session", session.removeprefix("/sessions/"))
        held.set()
        await talker.service.finish(turn)

    assert (result.exit_code, result.stdout, len(said(result))) == (1, "", 1)


@pytest.mark.parametrize(
    ("reply", "code", "says"),
    [
        (refuse(400, "no such \x1b model"), 1, "the turn failed: upstream_http: "),
        (say("", thought="Hm.", finish="length"), 3, "the turn ended at the limit max_tokens: "),
    ],
    ids=["failed", "at a limit"],
)
async def test_each_end_without_an_answer_has_its_exit_code(tmp_path: Path, reply: Reply, code: int, says: str) -> None:
    async with talking(tmp_path, reply) as talker:
        result = await talker.chat()

    assert (result.exit_code, result.stdout) == (code, "")
    assert said(result)[-1].startswith(says)
    assert said(result)[-1].isprintable()


async def test_a_turn_that_somebody_else_cancels_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    async with talking(tmp_path, say("Half", hold=asyncio.Event())) as talker:
        chat = asyncio.create_task(talker.chat())
        await within_bound(talker.llama.arrived)
        session = await talker.only_session()
        await talker.service.cancel(f"/sessions/{session['id']}/turns/{session['running']}")
        result = await chat

    assert (result.exit_code, said(result)[-1]) == (5, "the turn was cancelled")


@pytest.mark.rules("A1", "K5")
async def test_a_call_that_waits_is_shown_and_left_waiting(tmp_path: Path) -> None:
    async with talking(tmp_path, PAY, say("Paid.")) as talker:
        result = await talker.chat()
        session = await talker.only_session()
        listed = (await talker.service.served.http.get("/approvals")).json()

    assert (result.exit_code, result.stdout, listed["count"]) == (4, "", 1)
    assert '      "to": "Ann \\u202e"' in said(result)
    assert said(result)[-1] == f"decide with: turnkeeper chat --session {session['id']}"


@pytest.mark.rules("L7")
async def test_a_step_that_is_tried_again_leaves_nothing_of_the_first_try_in_the_answer(tmp_path: Path) -> None:
    async with talking(tmp_path, say("Half an ans", cut_at=-1), say("Whole.")) as talker:
        result = await talker.chat()

    assert (result.exit_code, result.stdout) == (0, "Whole.\n")
    assert any(line.startswith("retrying: ") for line in said(result))


async def test_where_no_service_answers_it_says_how_to_start_one(free_port: int) -> None:
    url = f"http://127.0.0.1:{free_port}"

    result = await asyncio.to_thread(turnkeeper, "--url", url, stdin=b"Hello")

    assert (result.exit_code, result.stdout) == (1, "")
    assert said(result) == [
        f"no service answers at {url}; start one with turnkeeper serve, or say where it is with --url"
    ]


@pytest.mark.rules("D1")
async def test_the_address_is_that_of_the_settings(free_port: int) -> None:
    result = await asyncio.to_thread(turnkeeper, stdin=b"Hello", env={"TURNKEEPER_PORT": str(free_port)})

    assert f"no service answers at http://127.0.0.1:{free_port};" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "says"),
    [
        ([], b" \n", "there is no message: standard input is empty"),
        ([], b"\xff", "standard input is no text in UTF-8"),
        (["--session", " "], b"Hi", "--session must be the id of a session"),
        (
            ["--session", "s", "--agent", "a", "--title", "t"],
            b"Hi",
            "--agent, --title is for a new session; leave it out with --session",
        ),
        (["--show-reasoning", "--no-reasoning"], b"Hi", "say --show-reasoning or --no-reasoning, not both"),
        (["--system", "\udcff"], b"Hi", "--system is no UTF-8"),
        (["--url", "ftp://here"], b"Hi", "--url must be an address like http://127.0.0.1:8000"),
    ],
)
def test_wrong_use_is_told_in_one_line(arguments: list[str], stdin: bytes, says: str) -> None:
    result = turnkeeper(*arguments, stdin=stdin)

    assert (result.exit_code, result.stdout, said(result)) == (2, "", [says])


def test_the_exit_codes_are_in_the_help() -> None:
    shown = " ".join(turnkeeper("--help").output.split())

    for words in (
        "0 answered",
        "1 failed",
        "2 wrong use",
        "3 ended at a limit",
        "4 a call waits",
        "5 cancelled",
        "130",
    ):
        assert words in shown
