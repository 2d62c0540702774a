"""A small client of the service, as an application would write one."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

import httpx

from service.core.json_types import JsonObject

TRIES = 8
"""How often a model is asked for the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One server-sent event."""

    id: int | None
    event: str
    data: JsonObject


class Client:
    """Talks to one service."""

    def __init__(self, address: str, http: httpx.AsyncClient) -> None:
        self.address = address
        self.http = http

    async def session(self, **asked: object) -> str:
        """Make a session."""
        answer = await self.http.post(f"{self.address}/sessions", json=asked)
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    async def get(self, path: str) -> JsonObject:
        """Get a resource."""
        answer = await self.http.get(f"{self.address}{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, body: JsonObject, **headers: str) -> httpx.Response:
        """Post, and wait for the whole answer."""
        return await self.http.post(f"{self.address}{path}", json=body, headers=headers)

    async def frames(self, session: str, body: JsonObject) -> AsyncGenerator[Frame]:
        """Run a turn and give its events as they come."""
        url = f"{self.address}/sessions/{session}/turns"
        async with self.http.stream("POST", url, json=body) as answer:
            assert answer.status_code == 200, await answer.aread()
            async for frame in frames_of(answer):
                yield frame

    async def turn(self, session: str, **body: object) -> list[Frame]:
        """Run a turn and give all of its events."""
        return [frame async for frame in self.frames(session, body)]

    async def turn_that_tells(self, event: str, begun: JsonObject, asked: JsonObject) -> list[Frame]:
        """Run the same turn in new sessions until one tells this event, from the second on as the seed would have it.

        A small model at times does something else than it is asked for, and no test may hang on it.
        """
        frames: list[Frame] = []
        for seed in range(TRIES):
            chance = {"sampling": {"seed": seed}} if seed else {}
            session = await self.session(**{**begun, **chance})
            frames = await self.turn(session, **asked)
            if named(frames, event):
                return frames
        raise AssertionError(f"in {TRIES} turns there was no {event}; the last one: {frames}")

    async def records(self, session: str) -> list[JsonObject]:
        """Read the whole log."""
        answer = await self.http.get(
            f"{self.address}/sessions/{session}/records", headers={"Accept": "application/x-ndjson"}
        )
        return [json.loads(line) for line in answer.text.split("\n") if line]


async def frames_of(answer: httpx.Response) -> AsyncIterator[Frame]:
    """Split a stream into its events; comments are passed over."""
    fields: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            number = int(fields["id"]) if "id" in fields else None
            yield Frame(id=number, event=fields.get("event", "message"), data=json.loads(fields["data"]))
            fields = {}


def text_of(frames: list[Frame], event: str, step: int) -> str:
    """Join the deltas of one step."""
    return "".join(frame.data["text"] for frame in frames if frame.event == event and frame.data["step"] == step)


def named(frames: list[Frame], event: str) -> list[JsonObject]:
    """Pick the events of one type."""
    return [frame.data for frame in frames if frame.event == event]
