"""What isn't a stream comes through each proxy as it is: refusals, uploads, addresses, the dashboard."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.proxy.behind import Behind
from tests.web.serving import BOUND_S

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024
ASKED_LATER = {"Prefer": "respond-async"}


@pytest.mark.rules("H1")
async def test_the_address_of_what_was_made_leads_to_it(house: Behind) -> None:
    created = await house.http.post("/sessions", json={"title": "Through a proxy"})
    found = await house.http.get(created.headers["location"])

    assert (created.status_code, found.status_code) == (201, 200)
    assert found.json()["title"] == "Through a proxy"


@pytest.mark.rules("H1")
async def test_a_head_is_answered_as_a_get_without_its_body(house: Behind) -> None:
    session = await house.session()
    head, whole = await house.http.head(session), await house.http.get(session)

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(whole.content))


@pytest.mark.rules("H9")
async def test_a_session_is_deleted_without_a_body(house: Behind) -> None:
    session = await house.session()
    deleted, after = await house.http.delete(session), await house.http.get(session)

    assert (deleted.status_code, deleted.content) == (204, b"")
    assert (after.status_code, after.json()["code"]) == (404, "not_found")


async def mebibytes(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b" " * MIB


@pytest.mark.rules("H2")
@pytest.mark.parametrize("told", [True, False], ids=["told", "chunked"])
async def test_a_body_that_is_too_large_is_refused_in_the_words_of_the_service(house: Behind, told: bool) -> None:
    content = b" " * (9 * MIB) if told else mebibytes(9)
    refused = await house.http.post("/sessions", content=content, headers={"Content-Type": "application/json"})

    assert refused.status_code == 413
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["code"] == "too_large"
    assert "max_body_bytes" in refused.json()["detail"]


@pytest.mark.rules("R1")
async def test_a_document_of_several_mebibytes_is_uploaded_whole(house: Behind) -> None:
    document = b"A line of a long document.\n" * (6 * MIB // 27)
    made = await house.http.post(
        "/readings",
        data={"query": "What is it?"},
        files={"files": ("long.txt", document, "text/plain")},
        headers=ASKED_LATER,
        timeout=3 * BOUND_S,
    )
    assert made.status_code == 202, made.text
    reading = (await house.http.get(made.headers["location"])).json()
    await house.http.post(f"{made.headers['location']}/cancel")

    (told,) = reading["documents"]
    assert (told["bytes"], told["sha256"]) == (len(document), hashlib.sha256(document).hexdigest())


@pytest.mark.rules("K1")
async def test_the_dashboard_may_post_from_the_name_of_the_proxy_and_no_other_page_may(house: Behind) -> None:
    page = await house.http.get("/")
    own = await house.http.post("/sessions", json={}, headers={"Origin": house.proxy.url})
    foreign = await house.http.post("/sessions", json={}, headers={"Origin": "https://elsewhere.example"})

    assert page.status_code == 200
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert own.status_code == 201, own.text
    assert (foreign.status_code, foreign.json()["code"]) == (403, "forbidden")


@pytest.mark.rules("K3")
async def test_a_request_without_a_key_is_refused_by_the_service(house: Behind) -> None:
    request = house.http.build_request("GET", "/sessions")
    del request.headers["Authorization"]
    refused = await house.http.send(request)

    assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")


async def test_answers_are_neither_compressed_nor_kept(house: Behind) -> None:
    answer = await house.http.get("/sessions", headers={"Accept-Encoding": "gzip"})

    assert "content-encoding" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["strict-transport-security"] == "max-age=31536000"


async def test_only_the_page_is_led_on_to_tls_and_a_key_in_the_clear_is_refused(house: Behind) -> None:
    async with httpx.AsyncClient(base_url=house.proxy.plain_url, headers=house.key, trust_env=False) as plain:
        page, request = await plain.get("/"), await plain.post("/sessions", json={})

    assert (page.status_code, page.headers["location"]) == (308, f"{house.proxy.url}/")
    assert request.status_code == 403
