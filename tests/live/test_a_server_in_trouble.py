"""Turns through a real llama-server that is busy, loads, dies, freezes, refuses, or is left (L3, L4, L7, L8, L9)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing
from pathlib import Path

import httpx
import pytest

from service.adapters.llama import LlamaHttp, build_llama_client
from service.core.completion_request import CompletionRequest
from service.core.errors import ContextFull
from service.core.json_types import JsonObject
from tests.live.client import Client, Frame, named
from tests.live.idle_slots import until_idle
from tests.live.processes import DEMO, service
from tests.live.troubled_server import TroubledServer

pytestmark = [pytest.mark.anyio, pytest.mark.live]

TEMPLATE = DEMO / "chatml-demo.jinja"
QUICK = {"poll_ms": "100", "liveness_ms": "5000", "idle_grace_ms": "5000", "load_wait_ms": "60000"}
STORY: JsonObject = {"content": "Tell me a long story.", "limits": {"max_tokens": 250}}


@pytest.fixture
def troubled(folder: Path) -> Generator[TroubledServer]:
    with TroubledServer(TEMPLATE, folder, "--parallel", "1", "--ctx-size", "2048", "--batch-size", "64") as server:
        yield server


@pytest.fixture
def client(troubled: TroubledServer, tool_port_url: str, folder: Path, http: httpx.AsyncClient) -> Generator[Client]:
    agents = str(DEMO / "agents.toml")
    with service(troubled.url, tool_port_url, folder, "/livez", agents_file=agents, **QUICK) as address:
        yield Client(address, http)


async def until(frames: AsyncGenerator[Frame], event: str) -> list[Frame]:
    """Read up to the first event of this type."""
    seen: list[Frame] = []
    async for frame in frames:
        seen.append(frame)
        if frame.event == event:
            break
    return seen


async def rest(frames: AsyncGenerator[Frame]) -> list[Frame]:
    return [frame async for frame in frames]


@pytest.mark.rules("L7", "H2")
async def test_a_turn_that_comes_before_the_server_waits_for_it(client: Client, troubled: TroubledServer) -> None:
    session = await client.session()
    async with aclosing(client.frames(session, STORY)) as frames:
        before = await until(frames, "waiting")
        troubled.start()
        after = await rest(frames)

    assert before[-1].data["reason"] == "loading"
    assert named(after, "turn_finished")[0]["outcome"] == "answered"
    assert named(after, "attempt") == []


@pytest.mark.rules("L7", "L4")
async def test_a_turn_goes_on_after_the_server_was_killed_and_started_again(
    client: Client, troubled: TroubledServer
) -> None:
    troubled.start()
    session = await client.session()
    async with aclosing(client.frames(session, STORY)) as frames:
        await until(frames, "content")
        troubled.kill()
        broken = await until(frames, "retrying")
        troubled.start()
        after = await rest(frames)

    assert broken[-1].data["reason"] == "stream_closed"
    assert named(broken, "attempt")[0]["kind"] == "stream_closed"
    assert named(after, "turn_finished")[0]["outcome"] == "answered"


@pytest.mark.rules("L4", "L7")
async def test_silence_is_noticed_and_the_turn_goes_on_when_the_server_wakes(
    client: Client, troubled: TroubledServer
) -> None:
    troubled.start()
    session = await client.session()
    async with aclosing(client.frames(session, STORY)) as frames:
        await until(frames, "content")
        troubled.freeze()
        silent = await until(frames, "retrying")
        troubled.thaw()
        after = await rest(frames)

    assert silent[-1].data["reason"] == "stalled"
    assert named(after, "turn_finished")[0]["outcome"] == "answered"


@pytest.mark.rules("L9")
async def test_of_two_turns_on_one_slot_the_second_is_queued_and_then_runs(
    client: Client, troubled: TroubledServer
) -> None:
    troubled.start()
    first, second = await client.session(), await client.session()
    async with aclosing(client.frames(first, STORY)) as running:
        await until(running, "content")
        async with aclosing(client.frames(second, {**STORY, "limits": {"max_tokens": 16}})) as waiting:
            queued = await until(waiting, "queued")
            ended, after = await asyncio.gather(rest(running), rest(waiting))

    assert queued[-1].data["position"] == 1
    for frames in (ended, after):
        (end,) = named(frames, "turn_finished")
        assert end["outcome"] == "answered", end


@pytest.mark.rules("L8", "T13")
async def test_a_cancel_in_generation_frees_the_slot_soon(
    client: Client, troubled: TroubledServer, record_testsuite_property: Callable[[str, object], None]
) -> None:
    troubled.start()
    session = await client.session()
    async with aclosing(client.frames(session, STORY)) as frames:
        seen = await until(frames, "content")
        await client.post(f"/sessions/{session}/turns/{seen[-1].data['turn']}/cancel", {})
        ended = await rest(frames)
        took_ms = await until_idle(client.http, troubled.url)

    record_testsuite_property("slot_free_after_a_cancel_in_generation_ms", took_ms)
    assert named(ended, "turn_finished")[0]["outcome"] == "cancelled"


@pytest.mark.rules("L8", "T13")
async def test_a_cancel_in_prefill_frees_the_slot_after_the_batch_in_hand(
    client: Client, troubled: TroubledServer, record_testsuite_property: Callable[[str, object], None]
) -> None:
    troubled.start()
    session = await client.session()
    long = {"content": "word " * 1500, "limits": {"max_tokens": 16}}
    async with aclosing(client.frames(session, long)) as frames:
        seen = await until(frames, "progress")
        await client.post(f"/sessions/{session}/turns/{seen[-1].data['turn']}/cancel", {})
        ended = await rest(frames)
        took_ms = await until_idle(client.http, troubled.url)

    record_testsuite_property("slot_free_after_a_cancel_in_prefill_ms", took_ms)
    assert named(ended, "turn_finished")[0]["outcome"] == "cancelled"
    assert named(ended, "assistant") == []


@pytest.mark.rules("L3", "L7")
async def test_a_wrong_key_fails_the_turn_at_once_and_says_so(
    tool_port_url: str, folder: Path, http: httpx.AsyncClient
) -> None:
    with (
        TroubledServer(TEMPLATE, folder, "--parallel", "1", "--ctx-size", "2048", "--api-key", "right") as server,
        service(server.url, tool_port_url, folder, "/livez", llama_api_key="wrong", **QUICK) as address,
    ):
        server.start()
        client = Client(address, http)
        session = await client.session(tools={"names": []})
        frames = await client.turn(session, **STORY)

    (end,) = named(frames, "turn_finished")
    assert (end["outcome"], end["error"]["kind"], end["error"]["status"]) == ("failed", "upstream_http", 401)
    assert "Invalid API Key" in end["error"]["message"]
    assert named(frames, "attempt") == []


@pytest.mark.rules("L3")
async def test_a_prompt_that_does_not_fit_is_told_with_its_size(demo_llama: str) -> None:
    request = CompletionRequest(messages=({"role": "user", "content": "word " * 6000},), max_tokens=8)
    async with build_llama_client(demo_llama) as connection, aclosing(LlamaHttp(connection).stream(request)) as stream:
        with pytest.raises(ContextFull) as caught:
            await anext(stream)

    assert caught.value.context_tokens == 2048
    assert (caught.value.prompt_tokens or 0) > 6000
