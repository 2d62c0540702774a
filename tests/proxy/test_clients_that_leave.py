"""A proxy tells the service that a client has left, and a turn ends with it only where the client said so (H5)."""

from __future__ import annotations

import asyncio

import pytest

from service.core.json_types import JsonObject
from tests.proxy.behind import TOKENS, Behind, text_in
from tests.web.serving import BOUND_S, frames_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H5")]


async def ended(house: Behind, turn: str) -> JsonObject:
    """Wait for the end of a turn, without the proxy."""
    async with asyncio.timeout(BOUND_S):
        return await house.service.finish(turn)


async def only_turn(house: Behind, session: str) -> str:
    (turn,) = (await house.service.served.http.get(f"{session}/turns")).json()["items"]
    return f"{session}/turns/{turn['id']}"


async def left_in_mid_stream(house: Behind, asked: str, query: str) -> str:
    """Start a turn, leave when its first token is there, and give the turn."""
    session = await house.session()
    async with house.client() as http:
        path = f"{session}/turns{query}"
        async with http.stream("POST", path, json={"content": asked}) as response:
            await text_in(frames_of(response))
    return response.headers["content-location"]


async def test_a_turn_ends_with_the_client_of_its_stream_that_said_so(house: Behind) -> None:
    asked = "Leave with me."
    house.hold(asked)
    turn = await left_in_mid_stream(house, asked, "?on_disconnect=cancel")
    after = await ended(house, turn)

    assert (after["outcome"], after["content"]) == ("cancelled", TOKENS[0])


async def test_a_turn_ends_with_the_client_that_waits_for_json_and_said_so(house: Behind) -> None:
    asked = "Leave with me, in JSON."
    house.hold(asked)
    session = await house.session()
    async with house.client() as http:
        path, form = f"{session}/turns?on_disconnect=cancel", {"Accept": "application/json"}
        asking = asyncio.create_task(http.post(path, json={"content": asked}, headers=form), name="asking")
        async with house.service.served.http.stream("GET", f"{session}/events?after=0") as response:
            await text_in(frames_of(response))
        asking.cancel()
        await asyncio.wait([asking])
    after = await ended(house, await only_turn(house, session))

    assert after["outcome"] == "cancelled"


async def test_a_turn_goes_on_without_its_client_otherwise(house: Behind) -> None:
    asked = "Go on without me."
    held = house.hold(asked)
    turn = await left_in_mid_stream(house, asked, "")
    running = (await house.http.get(turn)).json()
    held.open()
    after = await ended(house, turn)

    assert running["state"] == "running"
    assert (after["outcome"], after["content"]) == ("answered", "".join(TOKENS))
