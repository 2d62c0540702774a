"""Ports with odd, many, or talkative tools before a real llama-server (X3, X4, T9)."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from service.core.json_types import JsonObject
from tests.live.client import Client, named
from tests.live.given_port import given_port, spec
from tests.live.processes import service

pytestmark = [pytest.mark.anyio, pytest.mark.live]

CITY: JsonObject = {"city": {"type": "string"}}
WEATHER = spec("get_weather", "Get the weather of a city", CITY)
THINGS = [*(f"thing_{number}" for number in range(59)), "weather"]
STEADY: JsonObject = {"temperature": 0, "seed": 1}
SHORT: JsonObject = {"tool_iterations": 1, "max_tokens": 40, "thinking_tokens": 16}
ASKED: JsonObject = {
    "content": "What is the weather in Paris?",
    "tool_choice": "required",
    "limits": SHORT,
    "on_tool_limit": "conclude",
}


def sunny(call: JsonObject) -> str:
    return "18 degrees, sunny"


@pytest.mark.rules("X3")
async def test_a_tool_that_the_server_refuses_is_left_out_and_the_others_work(
    demo_llama: str, folder: Path, http: httpx.AsyncClient
) -> None:
    # Valid JSON Schema, which makes llama-server refuse each request that holds it.
    refused = spec("odd", "Takes anything", {"a": True})
    with given_port([refused, WEATHER], sunny) as port, service(demo_llama, port, folder) as address:
        client = Client(address, http)
        tools = await client.get("/tools")
        checks = (await client.get("/readyz"))["checks"]
        frames = await client.turn_that_tells("tool_result", {"sampling": STEADY}, ASKED)

    (left_out,) = tools["left_out"]
    assert [tool["name"] for tool in tools["items"]] == ["get_weather"]
    assert (left_out["name"], "llama-server refuses it" in left_out["reason"]) == ("odd", True)
    told = next(check["message"] for check in checks if check["name"] == "tool_port")
    assert "odd" in told
    # The small model may ask for more than one thing at once.
    assert named(frames, "tool_result")[0]["status"] == "ok"
    assert named(frames, "turn_finished")[0]["outcome"] == "answered"


@pytest.mark.rules("X3", "X4")
async def test_behind_find_tool_sixty_tools_cost_the_prompt_nothing_and_the_model_asks_for_one(
    demo_llama: str, folder: Path, http: httpx.AsyncClient
) -> None:
    many = [spec(f"get_{thing}", f"Get the {thing} of a city", CITY) for thing in THINGS]
    with given_port(many, sunny) as port, service(demo_llama, port, folder) as address:
        client = Client(address, http)
        frames = await client.turn_that_tells("tool_result", {"tools": {"mode": "discover"}, "sampling": STEADY}, ASKED)
        session = frames[0].data["session"]
        prompt = await client.get(f"/sessions/{session}/messages")
        baseline = (await client.get(f"/sessions/{session}"))["baseline"]["tools"]

    assert [tool["function"]["name"] for tool in prompt["tools"]] == ["find_tool", "call_tool", "read_result"]
    assert (baseline["mode"], baseline["count"], baseline["tokens"] < 500) == ("discover", 60, True)
    # Which of the three it takes is the model's business.
    assert {result["name"] for result in named(frames, "tool_result")} <= {"find_tool", "call_tool", "read_result"}
    assert named(frames, "tool_result")
    assert named(frames, "turn_finished")[0]["outcome"] == "answered"


@pytest.mark.rules("T9", "P7")
async def test_a_result_of_sixty_kilobytes_leaves_a_small_context_usable(
    demo_llama: str, folder: Path, http: httpx.AsyncClient
) -> None:
    long = "".join(f"Hour {hour}: {hour % 40} degrees.\n" for hour in range(3000))[:60_000]
    with given_port([WEATHER], lambda call: long) as port, service(demo_llama, port, folder) as address:
        client = Client(address, http)
        first = await client.turn_that_tells("tool_result", {"sampling": STEADY}, ASKED)
        session = first[0].data["session"]
        second = await client.turn(session, **ASKED)
        result = named(first, "tool_result")[0]
        whole = await client.http.get(f"{address}/sessions/{session}/records/{result['seq']}/full")
        context = (await client.get(f"/sessions/{session}"))["context"]

    assert context["size_tokens"] == 2048
    assert (result["truncated"], result["original_bytes"], whole.text) == (True, 60_000, long)
    for frames in (first, second):
        assert named(frames, "turn_finished")[0]["outcome"] == "answered"
