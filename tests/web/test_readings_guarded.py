"""What of a request for a reading is refused before its body is read (K1, K2)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import httpx
import pytest

from tests.web.fake_readings import FakeReadings
from tests.web.fakes import FakeApplication
from tests.web.served_readings import (
    asked,
    boundary_form,
    file_part,
    form_headers,
    problem,
    query_part,
)
from tests.web.serving import called, settings_with

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H2", "R1")]

JSON_TYPE = {"Content-Type": "application/json"}


@pytest.fixture
def readings(application: FakeApplication) -> FakeReadings:
    return application.readings


@pytest.mark.rules("K1")
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/mixed; boundary=x",
        "application/pdf",
        "",
        None,
        "text/plain; multipart/form-data",
    ],
)
async def test_no_other_type_of_body_is_read(
    http: httpx.AsyncClient, readings: FakeReadings, content_type: str | None
) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    refused = await http.post("/readings", content=json.dumps(asked("A text.")).encode(), headers=headers)

    assert problem(refused)[:2] == (415, "unsupported_media_type")
    assert "application/json or multipart/form-data" in refused.json()["detail"]
    assert readings.created == []


@pytest.mark.rules("K1")
@pytest.mark.parametrize("path", ["/sessions", "/sessions/ses_1/turns", "/readings/rdg_1/cancel", "/readings/"])
async def test_a_form_is_read_nowhere_else(http: httpx.AsyncClient, path: str) -> None:
    refused = await http.post(path, content=boundary_form(query_part(), file_part()), headers=form_headers())

    assert problem(refused)[:2] == (415, "unsupported_media_type")


@pytest.mark.rules("K1")
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:3000"])
async def test_a_page_of_another_site_uploads_nothing(
    http: httpx.AsyncClient, readings: FakeReadings, origin: str
) -> None:
    form = boundary_form(query_part(), file_part())
    refused = await http.post("/readings", content=form, headers=form_headers(Origin=origin))
    ours = await http.post("/readings", content=form, headers=form_headers(Origin="http://localhost:8000"))

    assert problem(refused)[:2] == (403, "forbidden")
    assert (ours.status_code, len(readings.created)) == (200, 1)


@pytest.mark.rules("K2")
async def test_an_upload_through_a_proxy_is_refused_without_keys(http: httpx.AsyncClient) -> None:
    form = boundary_form(query_part(), file_part())
    refused = await http.post("/readings", content=form, headers={**form_headers(), "X-Forwarded-For": "192.0.2.1"})

    assert problem(refused)[:2] == (403, "forbidden")


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "chunked"])
@pytest.mark.parametrize("sent", ["json", "form"])
async def test_a_body_over_its_bound_is_refused_before_it_is_read_whole(
    application: FakeApplication, declared: bool, sent: str
) -> None:
    pieces_read = 0

    async def body() -> AsyncGenerator[bytes]:
        nonlocal pieces_read
        for _ in range(100):
            pieces_read += 1
            yield b"x" * 1024

    form = boundary_form(query_part(), file_part())[:-7]
    headers = form_headers() if sent == "form" else JSON_TYPE
    bound = "max_upload_bytes" if sent == "form" else "max_body_bytes"
    settings = settings_with(max_body_bytes=4096, max_upload_bytes=8192)
    async with called(application, settings) as http:
        if declared:
            headers = headers | {"Content-Length": "100000"}
            refused = await http.post("/readings", content=body(), headers=headers)
        else:

            async def whole() -> AsyncGenerator[bytes]:
                yield form if sent == "form" else b"{"
                async for piece in body():
                    yield piece

            refused = await http.post("/readings", content=whole(), headers=headers)

    assert problem(refused)[:2] == (413, "too_large")
    assert f"setting {bound}" in refused.json()["detail"]
    assert pieces_read <= (0 if declared else 9)
    assert application.readings.created == []
