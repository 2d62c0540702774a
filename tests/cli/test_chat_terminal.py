"""D2: `turnkeeper chat` on a terminal: streams, asks about calls, is interrupted, loses the service and comes back."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.adapters.cutting_proxy import cutting_proxy
from tests.cases.fake_port import FakePort, open_spec
from tests.cases.replies import Call, Reply, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import WholeService, service_over
from tests.cli.whole_program import running
from tests.web.serving import within_bound

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals", allow_module_level=True)

from tests.cli.chat_terminal import CTRL_C, CTRL_D, ChatTerminal, chat_on_terminal

pytestmark = [pytest.mark.anyio, pytest.mark.rules("D2"), pytest.mark.timeout(120)]

INTERRUPTED = 130
PAY = ask_for(Call(name="pay", arguments='{"to": "Ann \\u001b \u202e"}'))
QUESTION = "approve? [y]es, [n]o, [e]dit the arguments:"


class BehindFirstWords(asyncio.Event):
    """Holds a reply back when its first delta is out: behind two of progress and one of the role."""

    waits = 0

    async def wait(self) -> Literal[True]:
        self.waits += 1
        return True if self.waits <= 3 else await super().wait()


def half(first: str, rest: str = " and the rest") -> tuple[BehindFirstWords, Reply]:
    """A reply that stops behind its first words until the event is set."""
    held = BehindFirstWords()
    return held, say([first, rest], hold=held)


class Talk:
    """A service with tools, one of which asks, and a model that plays a script."""

    def __init__(self, service: WholeService, llama: StrictLlama, port: FakePort) -> None:
        self.service = service
        self.llama = llama
        self.port = port
        self.url = str(service.served.http.base_url)

    async def session(self, turn: str = "") -> tuple[str, str]:
        """Give the ids of the only session and of its turn that is not at its end."""
        (session,) = (await self.service.served.http.get("/sessions")).json()["items"]
        return session["id"], session["running"] or turn

    async def outcomes(self) -> list[str]:
        session, _ = await self.session()
        return [end["outcome"] for end in await self.service.records(f"/sessions/{session}", "turn_finished")]


@asynccontextmanager
async def talk(store: Path, *script: Reply, **settings: Any) -> AsyncGenerator[Talk]:
    port = FakePort(open_spec("clock"), open_spec("pay", needs_approval=True, title="Pay a bill"))
    async with StrictLlama(*script) as llama, port, service_over(store, llama, port, **settings) as service:
        yield Talk(service, llama, port)


async def leave(terminal: ChatTerminal) -> int | None:
    await terminal.prompted()
    terminal.type(CTRL_D)
    return await terminal.end()


async def test_messages_are_answered_as_they_stream_until_the_person_leaves(tmp_path: Path) -> None:
    held, noon = half("It is \x1b[31mnoon")
    script = (ask_for(Call(name="clock"), thought="Which one?"), noon, say("Bye."))
    async with talk(tmp_path, *script) as talking, chat_on_terminal(talking.url) as terminal:
        await terminal.say("What time is it?")
        await terminal.until("thought: about 3 of at most 8192 tokens")
        await terminal.until("calls clock {}", "clock ok (public, ", "clock says ok")
        await terminal.until("It is \\u001b[31mnoon")
        held.set()
        await terminal.until("batch 1 of at most 8", "context ", "of 100000 tokens")
        await terminal.say("Thanks")
        await terminal.until("Bye.", "1 step")
        code = await leave(terminal)

    assert code == 0
    assert [message["content"] for message in talking.llama.asked[-1].messages if message["role"] == "user"] == [
        "What time is it?",
        "Thanks",
    ]
    assert "\x1b[31mnoon" not in terminal.raw


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
async def test_it_is_coloured_unless_that_is_not_wanted(tmp_path: Path, env: dict[str, str], coloured: bool) -> None:
    async with (
        talk(tmp_path, ask_for(Call(name="clock")), say("Noon.")) as talking,
        chat_on_terminal(talking.url, **env) as terminal,
    ):
        await terminal.until("Ctrl-D leaves", ">")
        terminal.type("Hello\r")
        await terminal.until("Noon.", "2 steps", ">")
        terminal.type(CTRL_D)
        code = await terminal.end()

    assert code == 0
    assert ("\x1b[36m" in terminal.raw) is coloured


async def test_a_reasoning_is_shown_when_it_is_wanted_and_not_even_counted_when_it_is_not(tmp_path: Path) -> None:
    shown: list[str] = []
    async with talk(tmp_path, say("Yes.", thought="Let me see.")) as talking:
        for option in ("--show-reasoning", "--no-reasoning"):
            async with chat_on_terminal(talking.url, option) as terminal:
                await terminal.say("Hello")
                await terminal.until("Yes.", "1 step")
                await leave(terminal)
            shown.append(terminal.text)

    assert "Let me see." in shown[0]
    assert "Let me see." not in shown[1]
    assert "thought: " not in shown[1]


@pytest.mark.rules("T13")
async def test_ctrl_c_cancels_the_turn_and_the_chat_goes_on(tmp_path: Path) -> None:
    async with talk(tmp_path, half("Half a")[1], say("Whole.")) as talking:
        async with chat_on_terminal(talking.url) as terminal:
            await terminal.say("Hello")
            await terminal.until("Half a")
            terminal.interrupt()
            await terminal.until("cancelling the turn; Ctrl-C again leaves at once", "the turn was cancelled")
            await terminal.say("Again")
            await terminal.until("Whole.", "1 step")
            code = await leave(terminal)
        outcomes = await talking.outcomes()

    assert (code, outcomes) == (0, ["cancelled", "answered"])


async def test_ctrl_c_while_the_service_is_away_leaves_and_says_how_to_come_back(tmp_path: Path) -> None:
    async with (
        talk(tmp_path, half("Half a")[1]) as talking,
        cutting_proxy(talking.service.served.port) as proxy,
        chat_on_terminal(proxy.url) as terminal,
    ):
        await terminal.say("Hello")
        await terminal.until("Half a")
        proxy.is_closed = True
        proxy.cut()
        await terminal.until("the connection was lost; reconnecting, the turn is not lost")
        session, _ = await talking.session()
        terminal.interrupt()
        await terminal.until("it could not be cancelled: ", f"turnkeeper chat --session {session}")
        code = await terminal.end()

    assert code == INTERRUPTED


async def test_a_second_ctrl_c_waits_for_no_cancel_and_says_how_to_come_back(tmp_path: Path) -> None:
    async with (
        talk(tmp_path, half("Half a")[1]) as talking,
        cutting_proxy(talking.service.served.port) as proxy,
        chat_on_terminal(proxy.url) as terminal,
    ):
        await terminal.say("Hello")
        await terminal.until("Half a")
        session, _ = await talking.session()
        # The cancel is never answered.
        proxy.passes.clear()
        terminal.interrupt()
        await terminal.until("cancelling the turn; Ctrl-C again leaves at once")
        terminal.interrupt()
        await terminal.until(f"turnkeeper chat --session {session}")
        code = await terminal.end()
        proxy.passes.set()

    assert code == INTERRUPTED


async def test_ctrl_c_while_nothing_runs_leaves_the_second_time(tmp_path: Path) -> None:
    async with talk(tmp_path, say("Hello.")) as talking, chat_on_terminal(talking.url) as terminal:
        await terminal.prompted()
        terminal.type(CTRL_C)
        await terminal.until("Ctrl-C again leaves")
        await terminal.prompted()
        terminal.type(CTRL_C)
        code = await terminal.end()

    assert code == INTERRUPTED


@pytest.mark.rules("A2", "K5")
async def test_a_call_is_shown_whole_and_runs_when_it_is_approved(tmp_path: Path) -> None:
    async with talk(tmp_path, PAY, say("Paid.")) as talking, chat_on_terminal(talking.url) as terminal:
        await terminal.say("Pay Ann")
        await terminal.until("Pay a bill (pay) waits for your decision", "This tool always asks for an approval.")
        await terminal.until('"to": "Ann \\u001b \\u202e"', QUESTION)
        await terminal.say("what?")
        await terminal.say("y")
        await terminal.until("call 1 was approved by local", "pay ok (public, ", "Paid.")
        code = await leave(terminal)

    assert code == 0
    assert [call.arguments for call in talking.port.calls] == [{"to": "Ann \x1b \u202e"}]
    assert "\u202e" not in terminal.raw


@pytest.mark.rules("A3")
async def test_a_call_is_denied_with_a_reason(tmp_path: Path) -> None:
    async with talk(tmp_path, PAY, say("Not paid.")) as talking, chat_on_terminal(talking.url) as terminal:
        await terminal.say("Pay Ann")
        await terminal.until(QUESTION)
        await terminal.say("n")
        await terminal.until("why not?")
        await terminal.say("Too much.")
        await terminal.until("call 1 was denied by local: Too much.", "pay denied", "Not paid.")
        code = await leave(terminal)

    assert (code, talking.port.calls) == (0, [])
    assert '"reason":"Too much."' in talking.llama.asked[-1].messages[-1]["content"]


@pytest.mark.rules("A2")
async def test_arguments_are_edited_and_shown_again_before_they_are_approved(tmp_path: Path) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import pathlib, sys\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "tries = pathlib.Path(__file__).with_suffix('.tries')\n"
        "file.write_text('[]' if not tries.exists() else '{\"to\": \"Bob\"}')\n"
        "tries.touch()\n"
    )
    async with (
        talk(tmp_path, PAY, say("Paid.")) as talking,
        chat_on_terminal(talking.url, EDITOR=f"{sys.executable} {editor}") as terminal,
    ):
        await terminal.say("Pay Ann")
        await terminal.until(QUESTION)
        await terminal.say("e")
        await terminal.until("that is no JSON object", QUESTION)
        await terminal.say("e")
        await terminal.until("your arguments in place of the model's:", '"to": "Bob"', QUESTION)
        await terminal.say("y")
        await terminal.until("call 1 was approved with other arguments by local", "Paid.")
        await leave(terminal)

    assert [call.arguments for call in talking.port.calls] == [{"to": "Bob"}]


async def test_an_editor_that_there_is_none_of_changes_nothing(tmp_path: Path) -> None:
    async with (
        talk(tmp_path, PAY, say("Paid.")) as talking,
        chat_on_terminal(talking.url, EDITOR="no-such-editor") as terminal,
    ):
        await terminal.say("Pay Ann")
        await terminal.until(QUESTION)
        await terminal.say("e")
        await terminal.until("the editor 'no-such-editor' can't be started", QUESTION)
        await terminal.say("y")
        await terminal.until("call 1 was approved by local", "Paid.")
        await leave(terminal)


async def test_a_decision_made_elsewhere_ends_the_question(tmp_path: Path) -> None:
    async with talk(tmp_path, PAY, say("Paid.")) as talking, chat_on_terminal(talking.url) as terminal:
        await terminal.say("Pay Ann")
        await terminal.until(QUESTION)
        http = talking.service.served.http
        (pending,) = (await http.get("/approvals")).json()["items"]
        decision = {"call": pending["call"], "approved": True, "digest": pending["digest"]}
        path = f"/sessions/{pending['session']}/turns/{pending['turn']}/decisions"
        await http.post(path, json={"decisions": [decision]}, headers={"Prefer": "respond-async"})
        await terminal.until("the question is void: the call does not wait any more")
        await terminal.until("pay ok", "Paid.")
        await terminal.prompted()
        code = await leave(terminal)

    assert code == 0


async def test_what_was_typed_before_a_question_stands_there_does_not_answer_it(tmp_path: Path) -> None:
    held = BehindFirstWords()
    async with (
        talk(tmp_path, ask_for(Call(name="pay"), text=["Wait."], hold=held)) as talking,
        chat_on_terminal(talking.url) as terminal,
    ):
        await terminal.say("Pay Ann")
        await terminal.until("Wait.")
        terminal.type("y\r")
        held.set()
        await terminal.until(QUESTION)
        await terminal.say("n")
        await terminal.until("why not?")
        terminal.type(CTRL_C)
        await terminal.until("cancelling the turn", "the turn was cancelled")
        await terminal.prompted()
        code = await leave(terminal)

    assert (code, talking.port.calls) == (0, [])


async def test_the_end_of_what_is_typed_leaves_the_call_waiting(tmp_path: Path) -> None:
    async with talk(tmp_path, PAY) as talking:
        async with chat_on_terminal(talking.url) as terminal:
            await terminal.say("Pay Ann")
            await terminal.until(QUESTION)
            await terminal.prompted()
            terminal.type(CTRL_D)
            code = await terminal.end()
        waiting = (await talking.service.served.http.get("/approvals")).json()["count"]
        session, _ = await talking.session()

    assert (code, waiting) == (INTERRUPTED, 1)
    assert f"the turn is not lost: turnkeeper chat --session {session}" in terminal.text


@pytest.mark.rules("A6")
async def test_a_session_is_gone_on_with_where_a_call_waits(tmp_path: Path) -> None:
    async with talk(tmp_path, say("First."), PAY, say("Paid.")) as talking:
        session = await talking.service.session()
        await talking.service.turn(session, "One")
        turn = await talking.service.start(session, "Pay Ann")
        name = session.removeprefix("/sessions/")
        async with chat_on_terminal(talking.url, "--session", name) as terminal:
            await terminal.until("> One", "First.", "a turn of this session is not at its end", "> Pay Ann", QUESTION)
            await terminal.say("y")
            await terminal.until("was approved by local", "Paid.")
            await terminal.say("/session")
            await terminal.until(f"{name} (idle)")
            code = await leave(terminal)
        ended = await talking.service.finish(turn)

    assert (code, ended["outcome"]) == (0, "answered")


async def test_a_session_is_joined_where_a_turn_runs_and_one_is_queued(tmp_path: Path) -> None:
    held, first = half("Half")
    async with talk(tmp_path, first, say("Queued as well.")) as talking:
        session = await talking.service.session()
        await talking.service.start(session, "One")
        await within_bound(talking.llama.arrived)
        await talking.service.start(session, "Two", on_busy="queue")
        async with chat_on_terminal(talking.url, "--session", session.removeprefix("/sessions/")) as terminal:
            await terminal.until("> One", "Half")
            held.set()
            await terminal.until("> Two", "Queued as well.", "1 step")
            code = await leave(terminal)

    assert code == 0


async def test_a_session_that_there_is_none_of_is_said_in_one_line(tmp_path: Path) -> None:
    async with talk(tmp_path, say("Hello.")) as talking:
        async with chat_on_terminal(talking.url, "--session", "ses_none") as terminal:
            code = await terminal.end()
            await terminal.until("turnkeeper: ", "ses_none")
        async with chat_on_terminal(talking.url, "--agent", "nobody") as other:
            other_code = await other.end()
            await other.until("turnkeeper: there is no agent nobody; known agents: none")

    assert (code, other_code) == (1, 2)
    assert "Traceback" not in terminal.text


async def test_a_retry_is_a_fork_from_before_the_last_turn(tmp_path: Path) -> None:
    async with talk(tmp_path, say("One."), say("Two."), say("Better.")) as talking:
        async with chat_on_terminal(talking.url) as terminal:
            await terminal.say("/retry")
            await terminal.until("there is no turn to ask again")
            await terminal.say("First")
            await terminal.until("One.", "1 step")
            await terminal.say("Second")
            await terminal.until("Two.", "1 step")
            await terminal.say("/retry")
            await terminal.until("asked again in the fork ", "stays as it is", "> Second", "Better.", "1 step")
            await terminal.say("/log")
            await terminal.until("session_created", "First", "Second", "turn_finished")
            await terminal.say("/new")
            await terminal.until("the next message begins a new session")
            await terminal.say("/nothing")
            await terminal.until("there is no /nothing; /help lists what there is")
            await terminal.say("/help")
            await terminal.until("/help", "/quit", "/new", "/session", "/retry", "/log")
            await terminal.say("/quit")
            code = await terminal.end()
        sessions = (await talking.service.served.http.get("/sessions")).json()["items"]

    assert (code, len(sessions)) == (0, 2)
    said = [message["content"] for message in talking.llama.asked[-1].messages if message["role"] != "system"]
    assert said == ["First", "One.", "Second"]


@pytest.mark.rules("H8", "S4")
async def test_a_service_that_is_killed_in_mid_turn_is_come_back_to(tmp_path: Path) -> None:
    async with (
        StrictLlama(half("Half a")[1], say("Something else."), say("Bye.")) as llama,
        running(tmp_path, llama.url) as first,
        cutting_proxy(first.http.base_url.port or 0) as proxy,
        chat_on_terminal(proxy.url) as terminal,
    ):
        await terminal.say("Hello")
        await terminal.until("Half a")
        proxy.is_closed = True
        first.process.kill()
        await terminal.until("; reconnecting, the turn is not lost", "reconnecting in 1 s (attempt 1 of 5)")
        async with running(tmp_path, llama.url) as second:
            proxy.target, proxy.is_closed = second.http.base_url.port or 0, False
            await terminal.until("back at the service", "the service was started again")
            await terminal.until("Something else.", "1 step")
            await terminal.say("Thanks")
            await terminal.until("Bye.", "1 step")
            code = await leave(terminal)

    assert code == 0


async def test_a_service_that_is_away_between_two_turns_is_said_and_the_chat_goes_on(tmp_path: Path) -> None:
    async with (
        talk(tmp_path, say("One."), say("Two.")) as talking,
        cutting_proxy(talking.service.served.port) as proxy,
        chat_on_terminal(proxy.url) as terminal,
    ):
        await terminal.say("Hello")
        await terminal.until("One.", "1 step")
        proxy.is_closed = True
        proxy.cut()
        await terminal.say("/session")
        await terminal.until("lost")
        proxy.is_closed = False
        await terminal.say("Again")
        await terminal.until("Two.", "1 step")
        code = await leave(terminal)

    assert code == 0


async def test_a_busy_session_is_said_and_its_turn_is_joined(tmp_path: Path) -> None:
    held, other = half("Of somebody else.")
    async with talk(tmp_path, say("One."), other) as talking, chat_on_terminal(talking.url) as terminal:
        await terminal.say("Hello")
        await terminal.until("One.", "1 step")
        session, _ = await talking.session()
        await talking.service.start(f"/sessions/{session}", "From elsewhere")
        await terminal.say("Mine")
        await terminal.until("a turn of this session is not at its end", "> From elsewhere", "Of somebody else.")
        held.set()
        await terminal.until("1 step")
        code = await leave(terminal)

    assert code == 0
