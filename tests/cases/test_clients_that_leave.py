"""A client that leaves loses nothing: neither the turn (case 12) nor its place in the stream (case 10)."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tests.cases.fake_port import FakePort
from tests.cases.replies import Call, ask_for, say
from tests.cases.strict_llama import StrictLlama
from tests.cases.whole_service import Start, WholeService
from tests.web.serving import frames_of, within_bound

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H5", "H6")]


@pytest.mark.cases(12)
async def test_a_connection_that_is_closed_right_behind_the_202_changes_nothing(start: Start) -> None:
    may_end = asyncio.Event()
    llama, port = StrictLlama(ask_for(Call(name="clock"), hold=may_end), say("It is noon.")), FakePort()
    service = await start(llama, port)
    session = await service.session()
    async with httpx.AsyncClient(base_url=service.served.http.base_url, trust_env=False) as client:
        request = client.build_request(
            "POST", f"{session}/turns", json={"content": "Hello"}, headers={"Prefer": "respond-async"}
        )
        answer = await client.send(request, stream=True)
    may_end.set()
    turn = await service.finish(answer.headers["location"])

    assert (answer.status_code, turn["outcome"], turn["content"]) == (202, "answered", "It is noon.")
    assert (await service.records(session))[-1]["type"] == "turn_finished"


async def cut_at_once(service: WholeService, stream: str, cursor: str) -> int:
    """Open a stream behind a cursor and break it off before it brings anything."""
    async with (
        httpx.AsyncClient(base_url=service.served.http.base_url, trust_env=False) as client,
        client.stream("GET", stream, headers={"Last-Event-ID": cursor}) as response,
    ):
        return response.status_code


@pytest.mark.cases(10)
async def test_a_cursor_works_again_after_two_cuts_without_an_event(start: Start) -> None:
    may_end = asyncio.Event()
    llama, port = StrictLlama(ask_for(Call(name="clock")), say("It is noon.", hold=may_end)), FakePort()
    port.held = {"clock"}
    service = await start(llama, port)
    session = await service.session()
    turn = await service.start(session)
    await within_bound(port.arrived)
    places = {record["type"]: record["pos"] for record in await service.records(session)}
    cursor = str(places["tool_call_started"])
    cuts = [await cut_at_once(service, f"{turn}/events", cursor) for _ in range(2)]
    port.release.set()
    may_end.set()
    async with service.served.http.stream("GET", f"{turn}/events", headers={"Last-Event-ID": cursor}) as response:
        seen = [frame.field("event") async for frame in frames_of(response) if frame.field("id")]

    assert cuts == [200, 200]
    assert seen == ["tool_result", "assistant", "usage", "turn_finished"]
