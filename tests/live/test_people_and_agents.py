"""Approvals and handoffs with a real model: a person decides, another agent answers (A1, A2, G2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from service.core.json_types import JsonObject
from tests.live.client import Client, Frame, frames_of, named
from tests.live.given_port import given_port, spec
from tests.live.processes import service

# A model on two cores that others use as well takes its time.
pytestmark = [pytest.mark.anyio, pytest.mark.live, pytest.mark.timeout(300)]

AGENTS = """
default = "desk"

[agents.desk]
description = "Answers first"
system = "You are a helpful assistant."
tools = { names = ["handoff_to"] }
sampling = { temperature = 0.0, seed = 1, repeat_penalty = 1.1 }
limits = { max_tokens = 160, thinking_tokens = 0 }

[agents.weather]
description = "Knows the weather"
system = "You are a helpful assistant."
tools = { names = [] }
sampling = { temperature = 0.0, seed = 1, repeat_penalty = 1.1 }
limits = { max_tokens = 160, thinking_tokens = 0 }
"""
STEADY: JsonObject = {
    "system": "You are a helpful assistant.",
    "sampling": {"temperature": 0.0, "seed": 1, "repeat_penalty": 1.1},
    "limits": {"max_tokens": 160, "thinking_tokens": 0},
}
ONE_CALL: JsonObject = {"tool_choice": "required", "limits": {"tool_iterations": 1}, "on_tool_limit": "conclude"}


DELETE = {
    **spec("delete_file", "Delete a file.", {"id": {"type": "integer", "minimum": 1, "maximum": 99}}),
    "needs_approval": True,
}


@pytest.fixture(scope="module")
def agents_service(wrapped_llama: str, folder: Path) -> Iterator[str]:
    file = folder / "people-and-agents.toml"
    file.write_text(AGENTS, encoding="utf-8")
    with (
        given_port([DELETE], lambda call: f"{call['approval']['by']} had it deleted") as tools,
        service(wrapped_llama, tools, folder, agents_file=str(file)) as address,
    ):
        yield address


@pytest.fixture
def agents(agents_service: str, http: httpx.AsyncClient) -> Client:
    return Client(agents_service, http)


@pytest.fixture
def files(wrapped_llama: str, folder: Path, http: httpx.AsyncClient) -> Iterator[Client]:
    """One tool alone, which the model then has to take."""
    with (
        given_port([DELETE], lambda call: f"{call['approval']['by']} had it deleted") as tools,
        service(wrapped_llama, tools, folder) as address,
    ):
        yield Client(address, http)


async def decided(client: Client, turn: str, decisions: list[JsonObject]) -> list[Frame]:
    """Send decisions and read on to the end of the stream."""
    url = f"{client.address}{turn}/decisions"
    async with client.http.stream("POST", url, json={"decisions": decisions}) as answer:
        assert answer.status_code == 200, await answer.aread()
        return [frame async for frame in frames_of(answer)]


@pytest.mark.rules("A1", "A2", "A6", "H1")
@pytest.mark.parametrize("approved", [True, False])
async def test_a_call_waits_for_a_person_and_the_model_answers_what_was_decided(files: Client, approved: bool) -> None:
    asked = await files.turn_that_tells("approval_requested", STEADY, {"content": "Delete file 7.", **ONE_CALL})
    listed = await files.get("/approvals")
    # The small model may ask for more than one thing at once.
    pending = asked[-1].data["calls"]
    turn = f"/sessions/{pending[0]['session']}/turns/{pending[0]['turn']}"
    waiting = await files.get(turn)

    decisions = [{"call": one["call"], "approved": approved, "digest": one["digest"]} for one in pending]
    went_on = await decided(files, turn, decisions)

    calls, (end,) = {one["call"] for one in pending}, named(went_on, "turn_finished")
    # A call of `read_result` in the same batch asks nobody.
    results = [result for result in named(went_on, "tool_result") if result["call"] in calls]
    assert {one["name"] for one in pending} == {"delete_file"}
    assert (listed["items"], listed["count"]) == (pending, len(pending))
    assert (waiting["state"], waiting["pending"]) == ("awaiting_approval", pending)
    assert {(result["status"], "local had it deleted" in result["content"]) for result in results} == {
        ("ok", True) if approved else ("denied", False)
    }
    assert sorted(result["call"] for result in results) == sorted(calls)
    assert (end["outcome"], end["content"] != "") == ("answered", True)
    assert (await files.get("/approvals"))["count"] == 0


@pytest.mark.rules("G2", "G1", "H6")
@pytest.mark.cases(9)
async def test_an_agent_hands_over_and_goes_on_with_the_others_answer(agents: Client) -> None:
    frames = await agents.turn_that_tells("handoff_returned", {}, {"content": "Is it warm in Paris?", **ONE_CALL})

    (started,), (returned,) = named(frames, "handoff_started"), named(frames, "handoff_returned")
    (end,) = named(frames, "turn_finished")
    session = frames[0].data["session"]
    # The small model may ask for more than one thing at once; the first handoff counts.
    result = next(one for one in named(frames, "tool_result") if one["call"] == started["call"])
    child = await agents.get(f"/sessions/{started['child']['session']}")
    answer = await agents.get(f"/sessions/{started['child']['session']}/turns/{started['child']['turn']}")
    assert child["parent"] == {"session": session, "turn": end["turn"], "call": started["call"]}
    assert (child["agent"], returned["outcome"]) == (started["agent"], answer["outcome"])
    assert result["name"] == "handoff_to"
    if answer["outcome"] == "answered":
        assert (result["status"], result["content"]) == ("ok", answer["content"])
    assert end["outcome"] == "answered"
