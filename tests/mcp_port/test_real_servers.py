"""Servers that others wrote, over the whole port as a process of its own: from PyPI, from npm, and the SDK's."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.example_port.port_client import PortClient
from tests.mcp_port.npm_servers import npm_server

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X1", "X3", "D2")]

BOUND_S = 60.0
TIME: dict[str, Any] = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}
SDK_SERVER = '''
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from pydantic import BaseModel

server = MCPServer("sdk")

class Sum(BaseModel):
    sum: int

class Name(BaseModel):
    name: str

@server.tool()
def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return Sum(sum=a + b)

@server.tool()
def picture() -> Image:
    """Draw something."""
    return Image(data=b"not really a png", format="png")

@server.tool()
async def ask(ctx: Context) -> str:
    """Ask the user for a name."""
    return str(await ctx.elicit("Your name?", Name))

@server.tool()
def broken() -> str:
    """Fail."""
    raise ValueError("the disk is full")

server.run()
'''


@asynccontextmanager
async def mcp_port(folder: Path, servers: dict[str, Any], **environment: str) -> AsyncGenerator[PortClient]:
    """Run `turnkeeper mcp-port` over these servers."""
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "service", "mcp-port", "--config", str(file), "--port", "0"),
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(BOUND_S):
            url = (await process.stdout.readline()).decode().split()[-1]
            async with httpx.AsyncClient(base_url=url, timeout=BOUND_S, trust_env=False) as http:
                yield PortClient(http)
    finally:
        process.terminate()
        async with asyncio.timeout(BOUND_S):
            assert await process.wait() == 0


async def states(port: PortClient) -> dict[str, str]:
    """Say how the servers are, once all have started."""
    return {server["name"]: server["state"] for server in (await port.http.get("/tools")).json()["servers"]}


async def test_the_time_server_from_pypi_tells_the_time(tmp_path: Path) -> None:
    async with mcp_port(tmp_path, {"time": TIME}) as port:
        specs = await port.specs()
        answer = await port.call("time__convert_time", _conversion("12:00"), key='"ses_1/1"')
        wrong = await port.call("time__convert_time", _conversion("noon"))

    assert list(specs) == ["time__convert_time", "time__get_current_time"]
    assert specs["time__convert_time"]["parameters"]["required"] == ["source_timezone", "time", "target_timezone"]
    # It says that it reads only, and nothing of the world outside.
    assert "acts_outside" not in specs["time__convert_time"]
    assert answer["status"] == "result"
    assert json.loads(answer["content"])["target"]["datetime"].endswith("T17:30:00+05:30")
    assert wrong["content"].startswith("The tool failed: ")
    assert wrong["untrusted"] is True


async def test_the_file_server_from_npm_reads_and_writes_in_its_folder_alone(tmp_path: Path) -> None:
    node, program = npm_server("@modelcontextprotocol/server-filesystem")
    files = tmp_path / "files"
    files.mkdir()
    (files / "note.txt").write_text("Buy milk.", encoding="utf-8")
    server = {
        "command": node,
        "args": [program, "${FOLDER}"],
        "deny": ["edit_file", "move_file"],
        "tools": {"write_file": {"needs_approval": True}, "read_*": {"untrusted": False}},
    }
    async with mcp_port(tmp_path, {"files": server}, FOLDER=str(files)) as port:
        specs = await port.specs()
        read = await port.call("files__read_text_file", {"path": str(files / "note.txt")})
        outside = await port.call("files__read_text_file", {"path": "/etc/hostname"})
        arguments = {"path": str(files / "new.txt"), "content": "Buy bread."}
        asked = await port.call("files__write_file", arguments)
        written = await port.call("files__write_file", arguments, approval={"by": "ann"})

    assert "files__edit_file" not in specs
    assert specs["files__write_file"]["acts_outside"] is True
    assert specs["files__write_file"]["needs_approval"] is True
    assert "acts_outside" not in specs["files__read_text_file"]
    assert (read["status"], read["content"]) == ("result", "Buy milk.")
    assert outside["status"] == "failed"
    assert "Access denied" in outside["message"]
    assert asked["status"] == "pending_approval"
    assert written["status"] == "result"
    assert (files / "new.txt").read_text(encoding="utf-8") == "Buy bread."


async def test_the_memory_server_from_npm_remembers_over_restarts_of_the_port(tmp_path: Path) -> None:
    node, program = npm_server("@modelcontextprotocol/server-memory")
    server = {"command": node, "args": [program], "env": {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}}
    ann = {"entities": [{"name": "Ann", "entityType": "person", "observations": ["likes tea"]}]}
    async with mcp_port(tmp_path, {"memory": server}) as port:
        await port.call("memory__create_entities", ann, key="one")
        # The same key again is answered, and adds nothing.
        await port.call("memory__create_entities", ann, key="one")
    async with mcp_port(tmp_path, {"memory": server}) as port:
        found = await port.call("memory__search_nodes", {"query": "tea"})

    assert [entity["name"] for entity in json.loads(found["content"])["entities"]] == ["Ann"]


@asynccontextmanager
async def everything_at(port: int) -> AsyncGenerator[str]:
    """Run the reference server from npm at an address, in sessions of which nothing outlives it."""
    node, program = npm_server("@modelcontextprotocol/server-everything")
    process = await asyncio.create_subprocess_exec(
        *(node, program, "streamableHttp"),
        env={**os.environ, "PORT": str(port)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(BOUND_S):
            while b"listening on port" not in (line := await process.stderr.readline()):
                assert line, "it ended"
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        await process.wait()


async def test_the_reference_server_from_npm_at_an_address_may_be_started_again_between_two_calls(
    tmp_path: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        number = probe.getsockname()[1]
    async with AsyncExitStack() as port_stack:
        async with everything_at(number) as url:
            port = await port_stack.enter_async_context(mcp_port(tmp_path, {"all": {"type": "http", "url": url}}))
            first = await port.call("all__get-sum", {"a": 2, "b": 3})
            weather = await port.call("all__get-structured-content", {"location": "New York"})
        async with everything_at(number):
            second = await port.call("all__get-sum", {"a": 20, "b": 30})

    assert first["content"] == "The sum of 2 and 3 is 5."
    assert json.loads(weather["content"])["conditions"] == "Cloudy"
    assert second["content"] == "The sum of 20 and 30 is 50."


async def test_a_server_of_the_sdk_gives_structured_content_pictures_errors_and_questions(tmp_path: Path) -> None:
    program = tmp_path / "sdk_server.py"
    program.write_text(SDK_SERVER, encoding="utf-8")
    async with mcp_port(tmp_path, {"sdk": {"command": sys.executable, "args": [str(program)]}}) as port:
        total = await port.call("sdk__add", {"a": 2, "b": 3})
        picture = await port.call("sdk__picture", {})
        broken = await port.call("sdk__broken", {})
        asked = await port.call("sdk__ask", {})

    assert json.loads(total["content"]) == {"sum": 5}
    assert picture["content"] == "[image, image/png, 16 bytes; only text is shown]"
    # What was raised the SDK keeps to itself.
    assert broken["content"] == "The tool failed: Error executing tool broken"
    assert asked == {
        "status": "failed",
        "message": "the MCP server sdk asks its user for input (elicitation), which this port can't give",
    }


async def test_a_server_that_is_down_is_told_in_the_list_and_the_others_work(tmp_path: Path) -> None:
    servers = {"gone": {"command": "no-such-program"}, "time": TIME}
    async with mcp_port(tmp_path, servers) as port:
        assert await states(port) == {"gone": "down", "time": "up"}
        answer = await port.call("time__get_current_time", {"timezone": "Europe/Oslo"})
        gone = await port.call("gone__anything", {})

    assert answer["status"] == "result"
    assert gone["message"].startswith("the MCP server gone can't be started: there is no such program")


def _conversion(time: str) -> dict[str, str]:
    return {"source_timezone": "UTC", "time": time, "target_timezone": "Asia/Kolkata"}
