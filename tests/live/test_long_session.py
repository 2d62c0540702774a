"""A session outlives its context many times over, on a real llama-server: its oldest part becomes a summary (C1)."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import httpx
import pytest

from tests.lengths import SHORT, turns
from tests.live.client import Client, named
from tests.live.processes import TEMPLATES, llama_server, service

pytestmark = [pytest.mark.anyio, pytest.mark.live]

CONTEXT = 2048
TURNS = turns(100, short=25)
# In the shorter conversation each message is longer: the context fills as often.
FILLER = " Tell me what you know of the bees that live in the far north." * (100 // TURNS - 1)
BEGINNING = "My name is Ada Lindqvist and I keep bees in Uppsala; please remember both."


@pytest.fixture
def client(folder: Path, tool_port_url: str, http: httpx.AsyncClient) -> Generator[Client]:
    """One slot with a small context."""
    with (
        llama_server(TEMPLATES / "chatml-tools-kept.jinja", folder, context=CONTEXT, parallel=1) as llama,
        service(llama, tool_port_url, folder) as address,
    ):
        yield Client(address, http)


@pytest.mark.skipif(SHORT, reason="a minute and more: make live runs it")
@pytest.mark.timeout(900)
@pytest.mark.rules("C0", "C1", "P5")
async def test_a_session_of_many_turns_in_a_small_context_still_holds_how_it_began(client: Client) -> None:
    session = await client.session(
        system="You are a helpful assistant.",
        tools={"names": []},
        sampling={"temperature": 0, "seed": 1},
        limits={"max_tokens": 4, "thinking_tokens": 0},
    )

    questions = [BEGINNING, *(f"And {n} bees?{FILLER}" for n in range(1, TURNS))]
    for question in questions:
        frames = await client.turn(session, content=question)
        assert named(frames, "turn_finished")[0]["outcome"] == "answered", frames[-1]
    frames = await client.turn(session, content="What is my name, and what do I keep?")

    assert named(frames, "turn_finished")[0]["outcome"] == "answered"
    prompt = (await client.get(f"/sessions/{session}/messages"))["messages"]
    shown = "".join(message["content"] for message in prompt)
    assert BEGINNING in shown
    log = await client.records(session)
    summaries = [record for record in log if record["type"] == "summary"]
    assert summaries
    assert all(record["tokens_after"] < record["tokens_before"] for record in summaries)
    reasons = {record["reason"] for record in log if record["type"] == "cache_loss"}
    assert reasons == {"compacted"}
    usages = [record for record in log if record["type"] == "usage"]
    assert max(record["prompt_tokens"] + record["completion_tokens"] for record in usages) <= CONTEXT
