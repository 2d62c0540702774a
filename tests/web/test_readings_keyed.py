"""A request for a reading that is sent again with its key begins nothing twice (H3)."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tests.web.served_readings import (
    QUERY,
    a_house,
    asked,
    boundary_form,
    file_part,
    form_headers,
    kinds_of,
    problem,
    query_part,
    records_of,
    served_readings,
    stream,
    text_of,
)
from tests.web.serving import Served

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H3", "R1")]

TEXT = text_of("the KEY is here", "")
WAITING = {"Accept": "application/json", "Idempotency-Key": "k1"}
OPTION_PARTS = [('name="memory_budget"', b"64"), ('name="chunk_tokens"', b"128")]


async def send_form(service: Served, *parts: tuple[str, bytes], boundary: str = "x", **headers: str) -> httpx.Response:
    content = boundary_form(*OPTION_PARTS, *parts, boundary=boundary)
    return await service.http.post("/readings", content=content, headers=form_headers(boundary, **WAITING) | headers)


async def test_the_same_json_with_its_key_is_read_once_however_often_and_in_whatever_form_it_is_sent() -> None:
    house = a_house()
    async with served_readings(house) as service:
        headers = {"Idempotency-Key": "k1"}
        streams = await asyncio.gather(
            *(stream(service, "POST", "/readings", json=asked(TEXT), headers=headers) for _ in range(5))
        )
        reordered = dict(reversed(asked(TEXT, memory_budget=64.0).items()))
        whole = await service.http.post("/readings", json=reordered, headers=WAITING)
        later = await service.http.post("/readings", json=asked(TEXT), headers=headers | {"Prefer": "respond-async"})
        other = await service.http.post("/readings", json=asked(TEXT, parallel=1), headers=WAITING)
        listed = (await service.http.get("/readings")).json()["items"]

    assert len(listed) == 1
    assert house.llama.calls == listed[0]["calls"] == 3
    assert all(records_of(frames) == records_of(streams[0]) for frames in streams)
    assert (whole.json(), later.status_code, later.json()) == (listed[0], 202, listed[0])
    assert problem(other)[:2] == (422, "idempotency_mismatch")


async def test_the_same_form_is_read_once_whatever_its_boundary_and_the_order_of_its_fields() -> None:
    house = a_house()
    async with served_readings(house) as service:
        first = await send_form(service, query_part(), file_part(TEXT.encode()))
        again = await send_form(service, file_part(TEXT.encode()), query_part(), boundary="another--boundary")
        joined = await service.http.post(
            "/readings",
            content=boundary_form(*OPTION_PARTS, query_part(), file_part(TEXT.encode())),
            headers=form_headers(**{"Idempotency-Key": "k1"}),
        )
        listed = (await service.http.get("/readings")).json()["items"]

    assert (first.status_code, first.json()) == (200, listed[0]), first.text
    assert again.json() == first.json()
    assert joined.headers["content-location"] == first.headers["content-location"]
    assert len(listed) == 1


@pytest.mark.parametrize(
    "parts",
    [
        [query_part("Where is it?"), file_part(TEXT.encode())],
        [query_part(), file_part(TEXT.encode() + b".")],
        [query_part(), file_part(TEXT.encode(), "b.txt")],
        [query_part(), file_part(TEXT.encode()), ('name="parallel"', b"1")],
        [query_part(), ('name="files"; filename="a.txt"\r\nContent-Type: text/markdown', TEXT.encode())],
        [query_part(), *[file_part(TEXT.encode())] * 2, ('name="level"', b"2")],
    ],
    ids=["query", "content", "filename", "option", "type", "number"],
)
async def test_a_form_that_says_something_else_under_the_same_key_is_refused(parts: list[tuple[str, bytes]]) -> None:
    async with served_readings(a_house()) as service:
        first = await send_form(service, query_part(), file_part(TEXT.encode()))
        other = await send_form(service, *parts)
        own_key = await send_form(service, *parts, **{"Idempotency-Key": "k2"})

    assert first.status_code == own_key.status_code == 200
    assert problem(other)[:2] == (422, "idempotency_mismatch")


async def test_the_order_of_the_files_is_part_of_what_is_asked() -> None:
    level = ('name="level"', b"2")
    one, two = file_part(TEXT.encode(), "1.txt"), file_part(TEXT.encode(), "2.txt")
    async with served_readings(a_house()) as service:
        first = await send_form(service, query_part(), level, one, two)
        other = await send_form(service, query_part(), level, two, one)

    assert first.status_code == 200
    assert problem(other)[:2] == (422, "idempotency_mismatch")


async def test_the_key_of_json_is_not_that_of_a_form() -> None:
    async with served_readings(a_house()) as service:
        first = await service.http.post("/readings", json=asked(TEXT), headers=WAITING)
        other = await send_form(service, query_part(), file_part(TEXT.encode(), "1.txt"))

    assert first.status_code == 200
    assert problem(other)[:2] == (422, "idempotency_mismatch")


async def test_a_request_that_was_refused_leaves_its_key_free() -> None:
    async with served_readings(a_house()) as service:
        refused = await send_form(service, query_part(), file_part(b""))
        too_large = await service.http.post("/readings", json=asked(TEXT, memory_budget=5000), headers=WAITING)
        taken = await send_form(service, query_part(), file_part(TEXT.encode()))

    assert (refused.status_code, too_large.status_code, taken.status_code) == (422, 422, 200)


async def test_a_key_is_one_of_visible_characters_and_is_sent_once() -> None:
    async with served_readings(a_house()) as service:
        wrong = await service.http.post("/readings", json=asked(TEXT), headers={"Idempotency-Key": "a b"})
        twice = await service.http.post(
            "/readings", json=asked(TEXT), headers=[("Idempotency-Key", "a"), ("Idempotency-Key", "a")]
        )
        listed = (await service.http.get("/readings")).json()["items"]

    assert problem(wrong) == problem(twice) == (422, "validation", ["Idempotency-Key"])
    assert listed == []


async def test_what_a_repeat_is_told_begins_with_the_first_record() -> None:
    async with served_readings(a_house()) as service:
        headers = {"Idempotency-Key": "k1"}
        first = await stream(service, "POST", "/readings", json=asked(TEXT, query=QUERY), headers=headers)
        repeat = await stream(service, "POST", "/readings", json=asked(TEXT, query=QUERY), headers=headers)

    assert kinds_of(repeat)[1] == "reading_created"
    assert repeat[1:] == records_of(first)
