"""`turnkeeper chat` in a pipe against a real model: whatever it says is what is printed, and the session goes on."""

from __future__ import annotations

import sys

import anyio
import httpx
import pytest

from service.cli.words import shown_text
from tests.live.client import Client

pytestmark = [pytest.mark.anyio, pytest.mark.live, pytest.mark.rules("D2"), pytest.mark.timeout(300)]

CODES = {"answered": 0, "turn_limit": 3, "failed": 1}


async def chat(address: str, message: str, *arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "service", "chat", "--url", address, *arguments]
    done = await anyio.run_process(command, input=message.encode(), check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


async def test_what_a_real_model_says_is_printed_and_a_session_is_gone_on_with(
    thinking_service: str, http: httpx.AsyncClient
) -> None:
    client = Client(thinking_service, http)

    first = await chat(thinking_service, "Say hello.", "--system", "Answer in one sentence.", "--title", "In a pipe")
    session = first[2].split("session ")[1].split()[0]
    second = await chat(thinking_service, "And now good bye.", "--session", session)

    turns = (await client.get(f"/sessions/{session}/turns"))["items"]
    assert len(turns) == 2
    for turn, (code, printed, said) in zip(turns, (first, second), strict=True):
        assert code == CODES[turn["outcome"]], said
        assert printed == (f"{shown_text(turn['content'])}\n" if turn["content"] else "")
        assert f"session {session}" in said
    assert (await client.get(f"/sessions/{session}"))["title"] == "In a pipe"
