"""A client that leaves: its reading goes on, unless it said otherwise (H5)."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tests.web.served_readings import (
    Pausing,
    a_house,
    asked,
    served_readings,
    stream,
    text_of,
)
from tests.web.serving import BOUND_S, within_bound
from tests.web.stepped import settle

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H5", "R1")]

TEXT = text_of("", "the KEY is here", "")
AT_ONCE = {"Prefer": "respond-async"}


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
async def test_a_client_that_leaves_does_not_end_its_reading_unless_it_said_so(accept: str) -> None:
    outcomes: dict[str, str] = {}
    for query in ("", "?on_disconnect=cancel"):
        house = a_house()
        pausing = Pausing(house)
        pausing.stop_at(2)
        async with served_readings(house) as service:
            async with httpx.AsyncClient(base_url=service.http.base_url, trust_env=False) as leaving:
                call = asyncio.create_task(
                    leaving.post(f"/readings{query}", json=asked(TEXT), headers={"Accept": accept})
                )
                await within_bound(pausing.arrived)
                (item,) = (await service.http.get("/readings")).json()["items"]
                follower = asyncio.create_task(stream(service, "GET", f"/readings/{item['id']}/events"))
                await settle()
                call.cancel()
            if not query:
                pausing.go_on.set()
            told = await asyncio.wait_for(follower, BOUND_S)
            outcomes[query] = told[-1].data["outcome"]

    assert outcomes == {"": "answered", "?on_disconnect=cancel": "cancelled"}


async def test_a_client_that_waits_for_nothing_leaves_its_reading_behind_whatever_it_said() -> None:
    house = a_house()
    pausing = Pausing(house)
    pausing.stop_at(1)
    async with served_readings(house) as service:
        async with httpx.AsyncClient(base_url=service.http.base_url, trust_env=False) as leaving:
            said = await leaving.post("/readings?on_disconnect=cancel", json=asked(TEXT), headers=AT_ONCE)
        pausing.go_on.set()
        told = await stream(service, "GET", f"{said.headers['location']}/events")

    assert told[-1].data["outcome"] == "answered"
