"""K3, K4: the client of a service sends its key with each request to that service, and to nobody else."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from io import BytesIO

import pytest

from service.adapters.service_client import open_service
from service.ports.running_service import SentFile, ServiceRefused, ServiceTrouble, WorkBegun
from tests.adapters.door_service import (
    FORBIDDEN,
    LACKS_SCOPE,
    UNAUTHORIZED,
    UNKNOWN,
    answer,
    door_service,
)
from tests.core.made_keys import CI_TEXT
from tests.web.serving import BOUND_S

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K3")]

BEARER = f"Bearer {CI_TEXT}"
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Location: %s\r\nConnection: close\r\n\r\n"
END = b'event: run_end\ndata: {"pos": 7}\n\n'


def unheeded(done: int, total: int) -> None: ...


def book() -> SentFile:
    return SentFile(name="book.txt", content=BytesIO(b"text"))


async def test_each_kind_of_request_has_the_key() -> None:
    async with door_service(answer("200 OK", {})) as door, open_service(door.url, CI_TEXT) as service:
        async with asyncio.timeout(BOUND_S):
            await service.get("/agents")
            await service.post("/readings/r/cancel")
            await service.send("/sessions", {})
    async with door_service(EVENTS % b"/readings/r" + END) as streams, open_service(streams.url, CI_TEXT) as service:
        async with asyncio.timeout(BOUND_S):
            sending = service.send_files("/readings", {}, [book()], ends_with="run_end", sent=unheeded)
            following = service.follow("/readings/r", ends_with="run_end")
            async with aclosing(sending), aclosing(following):
                assert [type(item).__name__ async for item in sending] == ["WorkBegun", "ToldEvent"]
                assert [type(item).__name__ async for item in following] == ["ToldEvent"]

    assert [asked[:2] for asked in door.asked + streams.asked] == [
        ("GET", "/agents"),
        ("POST", "/readings/r/cancel"),
        ("POST", "/sessions"),
        ("POST", "/readings"),
        ("GET", "/readings/r/events"),
    ]
    assert door.keys | streams.keys == {BEARER}


async def test_without_a_key_none_is_sent() -> None:
    async with door_service(answer("200 OK", {})) as door, open_service(door.url) as service:
        await service.get("/agents")

    assert door.keys == {None}


@pytest.mark.rules("K4")
@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "307 Temporary Redirect"])
async def test_a_redirect_carries_the_key_nowhere(status: str) -> None:
    async with door_service(answer("200 OK", {})) as elsewhere:
        redirect = answer(status, Location=f"{elsewhere.url}/agents")
        async with door_service(redirect) as door, open_service(door.url, CI_TEXT) as service:
            with pytest.raises(ServiceTrouble, match="is no Turnkeeper: HTTP status 30"):
                await service.get("/agents")
            with pytest.raises(ServiceTrouble, match="is no Turnkeeper: HTTP status 30"):
                await service.send("/sessions", {})

    assert door.keys == {BEARER}
    assert elsewhere.asked == []


@pytest.mark.rules("K4")
async def test_a_place_elsewhere_that_the_service_names_gets_no_request() -> None:
    async with door_service(EVENTS % b"/r" + END) as elsewhere:
        place = f"//{elsewhere.url.removeprefix('http://')}/r"
        async with (
            door_service(EVENTS % place.encode() + b": begun\n\n") as door,
            open_service(door.url, CI_TEXT) as service,
        ):
            told = service.send_files("/readings", {}, [book()], ends_with="run_end", sent=unheeded)
            async with asyncio.timeout(BOUND_S), aclosing(told):
                assert await anext(told) == WorkBegun(location=place)
                await anext(told)
            with pytest.raises(ServiceTrouble, match="is no Turnkeeper"):
                await service.get(place)
        async with door_service(EVENTS % elsewhere.url.encode()) as door, open_service(door.url, CI_TEXT) as service:
            told = service.send_files("/readings", {}, [book()], ends_with="run_end", sent=unheeded)
            with pytest.raises(ServiceTrouble, match="does not say what it has begun"):
                await anext(told)

    assert elsewhere.asked == []


@pytest.mark.parametrize(
    ("refusal", "status", "code", "detail"),
    [
        (UNAUTHORIZED, 401, "unauthorized", UNKNOWN),
        (FORBIDDEN, 403, "forbidden", LACKS_SCOPE),
    ],
)
async def test_a_key_that_is_refused_is_told_at_once_and_not_tried_again(
    refusal: bytes, status: int, code: str, detail: str
) -> None:
    async with door_service(refusal) as door, open_service(door.url, CI_TEXT) as service:
        with pytest.raises(ServiceRefused) as caught:
            await service.send("/sessions", {})

    assert (caught.value.status, caught.value.code, str(caught.value)) == (status, code, detail)
    assert len(door.asked) == 1
