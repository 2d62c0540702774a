"""Readings found again: in lists, by their ids, and by HEAD."""

from __future__ import annotations

import asyncio

import pytest

from tests.web.served_readings import (
    a_house,
    asked,
    problem,
    served_readings,
    stream,
    text_of,
)

pytestmark = [pytest.mark.anyio, pytest.mark.rules("R1")]

TEXT = text_of("", "the KEY is here", "")
WAITING = {"Accept": "application/json"}
AT_ONCE = {"Prefer": "respond-async"}


async def test_readings_are_listed_newest_first_page_by_page() -> None:
    async with served_readings(a_house()) as service:
        ids = [(await service.http.post("/readings", json=asked(TEXT), headers=WAITING)).json()["id"] for _ in range(5)]
        first = (await service.http.get("/readings?limit=2")).json()
        second = (await service.http.get(f"/readings?limit=2&after={first['next']}")).json()
        last = (await service.http.get(f"/readings?limit=2&after={second['next']}")).json()
        whole = (await service.http.get("/readings")).json()
        shown = (await service.http.get(f"/readings/{ids[0]}")).json()

    pages = [[item["id"] for item in page["items"]] for page in (first, second, last, whole)]
    newest_first = ids[::-1]
    assert pages == [newest_first[:2], newest_first[2:4], newest_first[4:], newest_first]
    assert (last["next"], whole["next"]) == (None, None)
    assert last["items"] == [shown]


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=many", "colour=red"])
async def test_a_wrong_page_is_refused(query: str) -> None:
    async with served_readings(a_house()) as service:
        refused = await service.http.get(f"/readings?{query}")

    assert problem(refused) == (422, "validation", [query.partition("=")[0]])


@pytest.mark.rules("H1", "H2")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/readings/rdg_none"),
        ("GET", "/readings/rdg_none/events"),
        ("POST", "/readings/rdg_none/cancel"),
        ("GET", "/readings/%00"),
        ("GET", "/readings/ses_1/events?after=5"),
    ],
)
async def test_a_reading_that_is_not_there_is_not_found(method: str, path: str) -> None:
    async with served_readings(a_house()) as service:
        refused = await service.http.request(method, path)
        head = await service.http.head(path) if method == "GET" else refused

    assert problem(refused)[:2] == (404, "not_found")
    assert head.status_code == 404


@pytest.mark.rules("H1")
async def test_head_is_answered_where_get_is_with_the_same_headers_and_no_stream() -> None:
    house = a_house()
    hold = asyncio.Event()
    house.llama.before_each = lambda: hold
    async with served_readings(house) as service:
        begun = await service.http.post("/readings", json=asked(TEXT), headers=AT_ONCE)
        address = begun.headers["location"]
        heads = [await service.http.head(path) for path in ("/readings", address, f"{address}/events")]
        hold.set()
        await stream(service, "GET", f"{address}/events")

    assert [(head.status_code, head.content) for head in heads] == [(200, b"")] * 3
    kinds = [head.headers["content-type"].partition(";")[0] for head in heads]
    assert kinds == ["application/json", "application/json", "text/event-stream"]
