"""A turn streams through each proxy token by token, and a stream that was cut goes on (H6)."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest

from tests.proxy.behind import TOKENS, Behind, behind, text_in
from tests.proxy.programs import program
from tests.proxy.proxies import nginx, replaced
from tests.web.fake_keys import FakeKeys
from tests.web.serving import BOUND_S, Frame, frames_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H6")]


async def test_a_token_reaches_the_client_before_the_model_says_the_next(house: Behind) -> None:
    asked = "Stream."
    held = house.hold(asked)
    session = await house.session()
    async with house.http.stream("POST", f"{session}/turns", json={"content": asked}) as response:
        frames = frames_of(response)
        first = await text_in(frames)
        held.open()
        rest = [frame async for frame in frames]

    assert response.headers["content-type"].startswith("text/event-stream")
    assert first == TOKENS[0]
    assert rest[-1].field("event") == "turn_finished"


async def test_a_token_reaches_a_client_of_http_2_before_the_model_says_the_next(house: Behind) -> None:
    curl = program("curl", "curl")
    asked = "Stream by HTTP/2."
    held = house.hold(asked)
    session = await house.session()
    (key,) = house.key.items()
    process = await asyncio.create_subprocess_exec(
        *(curl, "--silent", "--no-buffer", "--include", "--http2", "--cacert", str(house.certificate.file)),
        *("--header", ": ".join(key), "--header", "Content-Type: application/json"),
        *("--data", json.dumps({"content": asked}), f"{house.proxy.url}{session}/turns"),
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(BOUND_S):
        before = await process.stdout.readuntil(json.dumps(TOKENS[0]).encode())
        held.open()
        after = await process.stdout.read()
        await process.wait()

    assert before.startswith(b"HTTP/2 200")
    assert b"event: turn_finished" in after


def buffering(sample: str) -> str:
    """Give the sample with what it does against buffers undone."""
    undone = "proxy_buffering on; proxy_ignore_headers X-Accel-Buffering;"
    return replaced(sample, buffering=("proxy_buffering off;", undone))


async def test_a_proxy_that_buffers_is_one_that_these_tests_would_find(tmp_path: Path) -> None:
    asked = "Stream."
    async with behind(tmp_path, partial(nginx, change=buffering), keys=FakeKeys()) as house:
        held = house.hold(asked)
        session = await house.session()
        seen: list[Frame] = []
        turn = asyncio.create_task(note_frames(house, session, asked, seen.append), name="turn")
        await said_by_the_service(house, session)
        # What nginx passes on at once has been passed on when it has answered others that came later.
        for _ in range(3):
            assert (await house.http.get("/livez")).status_code == 200
        came_before = list(seen)
        held.open()
        await turn

    assert came_before == []
    assert seen[-1].field("event") == "turn_finished"


async def note_frames(house: Behind, session: str, asked: str, note: Callable[[Frame], None]) -> None:
    """Run a turn, and note each frame as it comes."""
    async with (
        house.client() as http,
        http.stream("POST", f"{session}/turns", json={"content": asked}) as response,
    ):
        async for frame in frames_of(response):
            note(frame)


async def said_by_the_service(house: Behind, session: str) -> None:
    """Wait until a client without a proxy has the first token."""
    async with house.service.served.http.stream("GET", f"{session}/events?after=0") as response:
        await text_in(frames_of(response))


async def first_place(frames: AsyncIterator[Frame]) -> str:
    async for frame in frames:
        if (place := frame.field("id")) is not None:
            return place
    raise AssertionError("the stream has ended without a record")


async def read_to_the_end(frames: AsyncIterator[Frame]) -> list[str | None]:
    return [frame.field("event") async for frame in frames if frame.field("id") is not None]


async def test_a_stream_goes_on_behind_the_last_event_that_came(house: Behind) -> None:
    asked = "Resume."
    held = house.hold(asked)
    session = await house.session()
    async with (
        house.client() as leaving,
        leaving.stream("POST", f"{session}/turns", json={"content": asked}) as response,
    ):
        turn, frames = response.headers["content-location"], frames_of(response)
        cursor = await first_place(frames)
        await text_in(frames)
    async with house.http.stream("GET", f"{turn}/events", headers={"Last-Event-ID": cursor}) as response:
        frames = frames_of(response)
        held.open()
        after = await read_to_the_end(frames)
    async with house.http.stream("GET", f"{turn}/events") as response:
        whole = [frame async for frame in frames_of(response) if frame.field("id") is not None]

    places = [frame.field("id") for frame in whole]
    assert after == [frame.field("event") for frame in whole[places.index(cursor) + 1 :]]
    assert after[-1] == "turn_finished"


async def test_a_stream_that_has_nothing_more_to_say_is_a_204(house: Behind) -> None:
    session = await house.session()
    answer = await house.http.post(f"{session}/turns", json={"content": "Hi"}, headers={"Accept": "application/json"})
    ended = answer.json()
    again = await house.http.get(answer.headers["content-location"] + "/events", headers={"Last-Event-ID": "999999"})

    assert ended["outcome"] == "answered"
    assert (again.status_code, again.content) == (204, b"")
