"""Why a session's cache was lost, told of a real llama-server that really lost it (P5)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import aclosing
from pathlib import Path

import httpx
import pytest

from service.core.json_types import JsonObject
from tests.live.client import Client, Frame, named
from tests.live.processes import DEMO, TEMPLATES, service
from tests.live.troubled_server import TroubledServer

pytestmark = [pytest.mark.anyio, pytest.mark.live]

QUICK = {"poll_ms": "100"}
# Long enough that what is lost with it is more than cache_slack.
SYSTEM = "You are a friendly guide in a small town by the sea, and you answer each question in one short sentence. " * 5
SMALL_TALK: JsonObject = {"content": "Say hello.", "limits": {"max_tokens": 8, "thinking_tokens": 16}}


@pytest.fixture
def llama(folder: Path) -> Generator[TroubledServer]:
    """One slot, and no other memory of prompts."""
    options = ("--parallel", "1", "--ctx-size", "2048", "--cache-ram", "0")
    with TroubledServer(DEMO / "chatml-demo.jinja", folder, *options) as server:
        server.start_and_wait()
        yield server


@pytest.fixture
def client(llama: TroubledServer, tool_port_url: str, folder: Path, http: httpx.AsyncClient) -> Generator[Client]:
    with service(llama.url, tool_port_url, folder, **QUICK) as address:
        yield Client(address, http)


async def small_session(client: Client, turns: int, *, name: str = "Ann") -> str:
    """Make a session that has had some turns, and lost nothing in them."""
    system = f"Your name is {name}. {SYSTEM}"
    session = await client.session(tools={"names": []}, system=system, sampling={"temperature": 0, "seed": 1})
    for _ in range(turns):
        assert losses(await client.turn(session, **SMALL_TALK)) == []
    return session


def losses(frames: list[Frame]) -> list[str]:
    """Give the reasons of what a turn lost, and check the figures that come with them."""
    (usage,) = named(frames, "usage")
    found = named(frames, "cache_loss")
    for loss in found:
        assert loss["cached_tokens"] == usage["cached_tokens"]
        assert loss["lost_tokens"] == loss["expected_tokens"] - loss["cached_tokens"] > 64
    assert named(frames, "turn_finished")[0]["outcome"] == "answered"
    return [loss["reason"] for loss in found]


@pytest.mark.rules("P5", "L7")
async def test_a_restart_that_a_turn_waited_through_is_the_reason(client: Client, llama: TroubledServer) -> None:
    session = await small_session(client, 1)
    llama.kill()
    seen: list[Frame] = []
    async with aclosing(client.frames(session, SMALL_TALK)) as frames:
        async for frame in frames:
            seen.append(frame)
            if frame.event == "waiting" and len(named(seen, "waiting")) == 1:
                llama.start()
    after = await client.turn(session, **SMALL_TALK)

    assert losses(seen) == ["server_restarted"]
    assert losses(after) == []


@pytest.mark.rules("P5")
async def test_a_restart_that_nobody_saw_is_the_reason(client: Client, llama: TroubledServer) -> None:
    session = await small_session(client, 3)
    llama.kill()
    llama.start_and_wait()

    frames = await client.turn(session, **SMALL_TALK)
    after = await client.turn(session, **SMALL_TALK)

    assert losses(frames) == ["server_restarted"]
    assert losses(after) == []


@pytest.mark.rules("P5", "L10")
async def test_another_template_is_the_reason_and_then_that_it_rewrites_what_the_first_one_kept(
    client: Client, llama: TroubledServer
) -> None:
    session = await small_session(client, 1)
    llama.kill()
    llama.template = TEMPLATES / "chatml-counting.jinja"
    llama.start_and_wait()

    first = await client.turn(session, **SMALL_TALK)
    second = await client.turn(session, **SMALL_TALK)

    # The session's profile is that of the template it was made with, which keeps all: so the second is a loss too.
    assert losses(first) == ["template_changed"]
    assert losses(second) == ["template_rewrites_history"]


@pytest.mark.rules("P5", "L10")
async def test_of_a_template_that_is_known_to_rewrite_history_nothing_is_expected(
    llama: TroubledServer, tool_port_url: str, folder: Path, http: httpx.AsyncClient
) -> None:
    llama.kill()
    llama.template = TEMPLATES / "chatml-counting.jinja"
    llama.start_and_wait()
    with service(llama.url, tool_port_url, folder, **QUICK) as address:
        client = Client(address, http)
        session = await small_session(client, 2)
        template = (await client.get(f"/sessions/{session}"))["baseline"]["template"]

    assert (template["keeps_turns"], template["keeps_steps"]) == (False, False)


@pytest.mark.rules("P5")
async def test_two_sessions_that_take_each_other_the_only_slot_are_told_so(client: Client) -> None:
    first, second = await small_session(client, 1, name="Ann"), await small_session(client, 1, name="Bob")

    alternating = [await client.turn(session, **SMALL_TALK) for session in (first, second, first)]

    assert [losses(frames) for frames in alternating] == [["slot_taken"]] * 3
