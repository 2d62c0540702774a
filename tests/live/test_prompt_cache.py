"""A session's prompt only grows, and a real llama-server finds all of it in its cache (P2, P5)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from service.core.json_types import JsonObject
from service.example_port.weather import WEATHER
from tests.lengths import turns
from tests.live.client import Client, named
from tests.live.processes import TEMPLATES, llama_server, service

pytestmark = [pytest.mark.anyio, pytest.mark.live]

SYSTEM = "You are a helpful assistant."
TURNS = turns(30, short=6)
CACHE_SLACK = 64
ONE_TOOL: JsonObject = {"names": ["get_weather"]}
STEADY: JsonObject = {"temperature": 0, "seed": 1}


@dataclass(frozen=True, slots=True)
class Served:
    """What one completion took, in tokens."""

    turn: int
    prompt: int
    cached: int
    said: int


@pytest.fixture(scope="module")
def keeping_llama(folder: Path) -> Generator[str]:
    """Two slots, and a template that shows an answer as the model wrote it."""
    with llama_server(TEMPLATES / "chatml-tools-kept.jinja", folder, context=2 * 6144) as address:
        yield address


@pytest.fixture
def client(keeping_llama: str, tool_port_url: str, folder: Path, http: httpx.AsyncClient) -> Generator[Client]:
    with service(keeping_llama, tool_port_url, folder) as address:
        yield Client(address, http)


def question(turn: int) -> JsonObject:
    """Ask for the weather of another city each time: a call of the tool, then an answer in words."""
    city = list(WEATHER)[turn % len(WEATHER)]
    return {
        "content": f"What is the weather in {city}?",
        "tool_choice": "required",
        "limits": {"tool_iterations": 1, "max_tokens": 40, "thinking_tokens": 16},
        "on_tool_limit": "conclude",
    }


async def sent_prompts(client: Client, llama: str, session: str) -> list[str]:
    """Let llama-server render the two prompts of the last turn: the question, and the question with the result."""
    prompt = await client.get(f"/sessions/{session}/messages")
    messages, rendered = prompt["messages"], list[str]()
    assert [message["role"] for message in messages[-4:]] == ["user", "assistant", "tool", "assistant"]
    for sent in (messages[:-3], messages[:-1]):
        asked = {"messages": sent, "tools": prompt["tools"]}
        answer = await client.http.post(f"{llama}/apply-template", json=asked)
        rendered.append(answer.raise_for_status().json()["prompt"])
    return rendered


async def run(client: Client, session: str, turn: int) -> list[Served]:
    """Run a turn with a call and an answer; give what its completions took."""
    frames = await client.turn(session, **question(turn))
    assert named(frames, "turn_finished")[0]["outcome"] == "answered"
    assert named(frames, "tool_result")[0]["status"] in ("ok", "failed")
    return [
        Served(turn, usage["prompt_tokens"], usage["cached_tokens"], usage["completion_tokens"])
        for usage in named(frames, "usage")
    ]


def missing(served: list[Served]) -> list[int]:
    """Count what each completion did not find of all that the one before had left in the cache."""
    return [before.prompt + before.said - now.cached for before, now in pairwise(served)]


def table(served: list[Served]) -> str:
    """Show the figures of all completions."""
    lines = [
        f"{now.turn:4} {now.prompt:7} {now.cached:7} {now.said:5} {lost:8}"
        for now, lost in zip(served, [0, *missing(served)], strict=True)
    ]
    return "\n".join(["turn  prompt  cached  said  missing", *lines])


@pytest.mark.timeout(300)
@pytest.mark.rules("P1", "P2", "P3", "P5")
async def test_over_many_turns_with_tools_the_prompt_only_grows_and_stays_cached(
    client: Client, keeping_llama: str
) -> None:
    session = await client.session(system=SYSTEM, tools=ONE_TOOL, sampling=STEADY)

    served: list[Served] = []
    prompts: list[str] = []
    for turn in range(TURNS):
        served += await run(client, session, turn)
        prompts += await sent_prompts(client, keeping_llama, session)
    log = await client.records(session)

    assert len(served) == len(prompts) == 2 * TURNS
    for number, (before, now) in enumerate(pairwise(prompts), start=2):
        assert now.startswith(before), f"prompt {number} begins in another way than the one before"
    assert max(missing(served)) <= CACHE_SLACK, table(served)
    assert [record for record in log if record["type"] == "cache_loss"] == [], table(served)


@pytest.mark.rules("P5")
async def test_two_sessions_on_two_slots_take_nothing_from_each_other(client: Client) -> None:
    both = [
        await client.session(system=f"Your name is {name}. {SYSTEM}", tools=ONE_TOOL, sampling=STEADY)
        for name in ("Ann", "Bob")
    ]

    served: dict[str, list[Served]] = {session: [] for session in both}
    for turn in range(3):
        for session in both:
            served[session] += await run(client, session, turn)

    for session in both:
        assert max(missing(served[session])) <= CACHE_SLACK, table(served[session])
        assert [record for record in await client.records(session) if record["type"] == "cache_loss"] == []
