"""The wait for the first byte against a real llama-server (L2)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from service.core.json_types import JsonObject
from tests.live.client import Client, named
from tests.live.processes import service

pytestmark = [pytest.mark.anyio, pytest.mark.live]

# Evaluated in one batch, which takes this model a second or more.
LONG_PROMPT: JsonObject = {
    "messages": [{"role": "user", "content": "word " * 300}],
    "max_tokens": 1,
    "stream": True,
    "cache_prompt": False,
}


@pytest.fixture
def client(demo_llama: str, tool_port_url: str, folder: Path, http: httpx.AsyncClient) -> Iterator[Client]:
    with service(demo_llama, tool_port_url, folder, poll_ms="100") as address:
        yield Client(address, http)


@pytest.mark.rules("L2")
async def test_a_request_that_waits_for_a_batch_in_another_slot_is_told_so_and_then_runs(
    client: Client, demo_llama: str
) -> None:
    session = await client.session(tools={"names": []})

    async with client.http.stream("POST", f"{demo_llama}/v1/chat/completions", json=LONG_PROMPT) as prefill:
        # Its head says that it has a slot.
        assert prefill.status_code == 200
        turn = asyncio.create_task(client.turn(session, content="Say hello.", limits={"max_tokens": 8}))
        slots = (await client.http.get(f"{demo_llama}/slots")).json()
        frames = await turn

    assert sorted(slot["is_processing"] for slot in slots) == [False, True]
    # On a busy machine a look may come too late for its time; what must not be said is that nothing works.
    reasons = {wait["reason"] for wait in named(frames, "waiting")}
    assert "slot_busy" in reasons
    assert "idle" not in reasons
    assert [frame.event for frame in frames].index("waiting") < [frame.event for frame in frames].index("content")
    assert named(frames, "turn_finished")[0]["outcome"] == "answered"
