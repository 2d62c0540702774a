"""`turnkeeper mcp-port`, as a process of its own: what it says, what it refuses, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.mcp_port.odd import PROGRAM

pytestmark = [pytest.mark.anyio, pytest.mark.rules("D2")]

BOUND_S = 60.0


@dataclass(frozen=True)
class Ended:
    code: int | None
    out: str
    err: str


def odd(mode: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(PROGRAM), mode], **more}


def config(folder: Path, **servers: Any) -> Path:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return file


async def start(*words: str | Path, **environment: str) -> asyncio.subprocess.Process:
    given = {name: value for name, value in os.environ.items() if name not in ("TOOL_PORT_TOKEN", "TOOL_PORT_SECRET")}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "service", "mcp-port", *map(str, words)),
        env={**given, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def ended(process: asyncio.subprocess.Process) -> Ended:
    async with asyncio.timeout(BOUND_S):
        out, err = await process.communicate()
    return Ended(process.returncode, out.decode(), err.decode())


async def run(*words: str | Path, **environment: str) -> Ended:
    return await ended(await start(*words, **environment))


async def test_a_check_prints_each_server_with_its_tools_and_flags(tmp_path: Path) -> None:
    file = config(tmp_path, one=odd("pages", tools={"first": {"needs_approval": True, "class": "internal"}}))

    told = await run("--config", file, "--check")

    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines() == [
        "one: up, 2 tools",
        "  one__first  (needs_approval, acts_outside, untrusted, class internal)",
        "  one__second  (acts_outside, untrusted)",
    ]


async def test_a_check_of_a_server_that_is_down_says_why_and_ends_with_1(tmp_path: Path) -> None:
    file = config(tmp_path, gone=odd("dies-at-once"), one=odd("pages", allow=["first"]))

    told = await run("--config", file, "--check")

    assert told.code == 1
    assert told.out.splitlines() == [
        "gone: down, it ended with exit code 7",
        "one: up, 1 tools, 1 more that the file leaves out",
        "  one__first  (acts_outside, untrusted)",
    ]


async def test_a_fault_of_the_file_is_one_line_and_ends_with_2(tmp_path: Path) -> None:
    file = config(tmp_path, one={"command": "x", "alow": []})

    for words in (("--check",), ()):
        told = await run("--config", file, *words)
        assert (told.code, told.out) == (2, "")
        assert told.err == (
            f"turnkeeper: {file}: mcpServers.one.alow is no member that is known here; look for a slip of the pen\n"
        )


async def test_a_secret_that_is_none_and_an_address_that_is_taken_are_one_line(tmp_path: Path) -> None:
    file = config(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        busy = await run("--config", file, "--port", str(number))
    secret = await run("--config", file, "--port", "0", TOOL_PORT_SECRET="no-secret")

    assert (busy.code, busy.err.count("\n")) == (1, 1)
    assert busy.err.startswith(f"turnkeeper: can't listen on 127.0.0.1:{number}: ")
    assert (secret.code, secret.err) == (1, "turnkeeper: TOOL_PORT_SECRET must be whsec_ and base64\n")
    assert "no-secret" not in secret.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_serves_until_a_signal_and_logs_calls_without_what_was_said(
    number: signal.Signals, tmp_path: Path
) -> None:
    process = await start("--config", config(tmp_path, one=odd("well")), "--port", "0")
    assert process.stdout is not None
    async with asyncio.timeout(BOUND_S):
        said = (await process.stdout.readline()).decode()
        async with httpx.AsyncClient(base_url=said.split()[-1], timeout=BOUND_S, trust_env=False) as http:
            assert (await http.get("/healthz")).json() == {"status": "ok"}
            await http.get("/tools")
            body = {"session": "s", "turn": "t", "call": 1, "tool": "one__echo", "arguments": {"text": "CANARY"}}
            assert "CANARY" in (await http.post("/calls", json=body)).text
    process.send_signal(number)
    told = await ended(process)

    assert said.startswith("MCP tool port on http://127.0.0.1:")
    assert told.code == 0
    assert "server one is up, with 13 tools" in told.err
    assert "'one__echo': result" in told.err
    assert "CANARY" not in told.err
    assert "Traceback" not in told.err


async def test_an_open_port_that_others_can_reach_is_warned_of(tmp_path: Path) -> None:
    process = await start("--config", config(tmp_path), "--port", "0", "--host", "0.0.0.0")
    assert process.stdout is not None
    async with asyncio.timeout(BOUND_S):
        await process.stdout.readline()
    process.send_signal(signal.SIGTERM)

    assert "without TOOL_PORT_TOKEN or TOOL_PORT_SECRET whoever reaches this port" in (await ended(process)).err
