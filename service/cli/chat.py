"""`turnkeeper chat`: talk with the model through a service that runs, on a terminal or in a pipe (D2)."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from service.cli.failure import INTERRUPTED, WRONG_USE, fail
from service.cli.service_address import ServicePlace, service_place
from service.cli.unanswered import told_in_one_line
from service.core.visible import visible

if TYPE_CHECKING:
    from service.cli.chat_shown import Reasoning
    from service.core.json_types import JsonObject
    from service.ports.running_service import RunningService


def chat(
    session: Annotated[str | None, typer.Option(metavar="ID", help="Go on in this session.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="The agent of a new session.")] = None,
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="The system prompt of a new session.")] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="The title of a new session.")] = None,
    url: Annotated[
        str | None, typer.Option(help="Where the service is; else the settings host and port say it.")
    ] = None,
    api_key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file with your API key; else TURNKEEPER_API_KEY has it.")
    ] = None,
    show_reasoning: Annotated[
        bool, typer.Option("--show-reasoning", help="Show what the model thinks; else its length is told.")
    ] = False,
    no_reasoning: Annotated[
        bool, typer.Option("--no-reasoning", help="Tell nothing of what the model thinks.")
    ] = False,
) -> None:
    """Talk with the model: on a terminal until you leave, in a pipe with all of standard input as one message.

    Ctrl-C cancels the turn, and again leaves. In a pipe the answer alone goes to standard output. Exit codes of a pipe:
    0 answered, 1 failed, 2 wrong use, 3 ended at a limit, 4 a call waits for an approval, 5 cancelled by somebody else,
    130 interrupted. A chat on a terminal ends with 0, or 130 when it is left by Ctrl-C.
    """
    from service.cli.chat_shown import Reasoning

    place = service_place(url, api_key_file)
    new = {"agent": agent, "system": system, "title": title}
    wanted: JsonObject = {name: value for name, value in new.items() if value is not None}
    _check(session, wanted, both=show_reasoning and no_reasoning)
    reasoning = Reasoning.COUNTED
    if show_reasoning or no_reasoning:
        reasoning = Reasoning.SHOWN if show_reasoning else Reasoning.HIDDEN
    message = None if _is_interactive() else _piped_message()
    raise typer.Exit(_chat(place, session, wanted, reasoning, message))


def _check(session: str | None, wanted: JsonObject, *, both: bool) -> None:
    for name, value in {**wanted, "session": session or ""}.items():
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            fail(f"--{name} is no UTF-8", exit_code=WRONG_USE)
    if both:
        fail("say --show-reasoning or --no-reasoning, not both", exit_code=WRONG_USE)
    if session is not None and wanted:
        options = ", ".join(f"--{name}" for name in wanted)
        fail(f"{options} is for a new session; leave it out with --session", exit_code=WRONG_USE)
    if session is not None and not session.strip():
        fail("--session must be the id of a session", exit_code=WRONG_USE)


def _is_interactive() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and (sys.stderr.isatty() or sys.stdout.isatty())


def _piped_message() -> str:
    if sys.stdin is None:
        fail("there is no standard input", exit_code=WRONG_USE)
    try:
        message = sys.stdin.buffer.read().decode()
    except ValueError:
        fail("standard input is no text in UTF-8", exit_code=WRONG_USE)
    except OSError as error:
        fail(f"standard input can't be read: {error.strerror}", exit_code=WRONG_USE)
    except KeyboardInterrupt:
        fail("interrupted", exit_code=INTERRUPTED)
    if not message.strip():
        fail("there is no message: standard input is empty", exit_code=WRONG_USE)
    return message.rstrip("\r\n")


def _chat(
    place: ServicePlace, session: str | None, wanted: JsonObject, reasoning: Reasoning, message: str | None
) -> int:
    with told_in_one_line(place.address):
        return asyncio.run(_held(place, session, wanted, reasoning, message))


async def _held(
    place: ServicePlace, session: str | None, wanted: JsonObject, reasoning: Reasoning, message: str | None
) -> int:
    # Imported here, so that --help and --version don't load all of it.
    from service.bootstrap import running_service
    from service.cli.chat_loop import Conversation
    from service.cli.chat_once import say_once
    from service.cli.chat_screen import forgive_letters, notes_stream, screen_on
    from service.cli.chat_session import ChatSession

    forgive_letters(sys.stdout, sys.stderr)
    stream = notes_stream(interactive=message is None)
    screen = screen_on(stream)
    async with running_service(place.address, place.api_key) as service:
        chat = ChatSession(service=service, wanted=wanted)
        if message is not None or stream is None:
            return await say_once(chat, screen, message or "", session=session, reasoning=reasoning)
        from service.cli.chat_prompt import TerminalPrompt

        talk = Conversation(
            service=service, screen=screen, prompt=TerminalPrompt(stream), session=chat, reasoning=reasoning
        )
        if session is not None:
            await talk.go_on_in(session)
        else:
            await _check_agent(service, wanted.get("agent"))
        return await talk.hold()


async def _check_agent(service: RunningService, agent: object) -> None:
    """See that the service is there, and has such an agent, before a message is typed."""
    listed = cast("list[JsonObject]", (await service.get("/agents")).get("items") or [])
    names = [str(profile.get("name")) for profile in listed]
    if agent is not None and agent not in names:
        known = ", ".join(visible(name, 100) for name in names) or "none"
        fail(f"there is no agent {visible(str(agent), 100)}; known agents: {known}", exit_code=WRONG_USE)
