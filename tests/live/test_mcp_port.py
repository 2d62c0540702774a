"""A real model, through Turnkeeper and the MCP port, to a real MCP server and back to an answer (X1, X3)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import httpx
import pytest

from service.core.json_types import JsonObject
from tests.live.client import Client, named
from tests.live.processes import PYTHON, free_port, running, service

pytestmark = [pytest.mark.anyio, pytest.mark.live, pytest.mark.rules("X1", "X3", "D2")]

ASKED: JsonObject = {
    "content": "What time is it in Europe/Oslo?",
    "tool_choice": "required",
    "limits": {"tool_iterations": 1, "max_tokens": 60, "thinking_tokens": 16},
    "on_tool_limit": "conclude",
}


async def test_a_model_asks_a_real_mcp_server_and_answers(
    demo_llama: str, folder: Path, http: httpx.AsyncClient, tmp_path: Path
) -> None:
    file = tmp_path / "mcp.json"
    time = {"command": sys.executable, "args": ["-m", "mcp_server_time"], "allow": ["get_current_time"]}
    file.write_text(json.dumps({"mcpServers": {"time": time}}), encoding="utf-8")
    number = free_port()
    url = f"http://127.0.0.1:{number}"
    command = [*PYTHON, "service", "mcp-port", "--config", str(file), "--port", str(number)]
    with (
        running(command, f"{url}/tools", tmp_path / "mcp-port.log", {}),
        service(demo_llama, url, folder) as address,
    ):
        client = Client(address, http)
        tools = await client.get("/tools")
        frames = await client.turn_that_tells(
            "tool_result", {"sampling": {"temperature": 0, "seed": 1}, "system": "Always call the tool."}, ASKED
        )

    assert [tool["name"] for tool in tools["items"]] == ["time__get_current_time"]
    result = named(frames, "tool_result")[0]
    assert (result["name"], result["status"], result["untrusted"]) == ("time__get_current_time", "ok", True)
    assert "timezone" in result["content"]
    finished = named(frames, "turn_finished")[0]
    assert finished["outcome"] == "answered"
    assert finished["content"]
