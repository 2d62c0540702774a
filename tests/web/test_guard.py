"""Attacks of web pages on a service on loopback, and what must work all the same."""

import asyncio
from collections.abc import AsyncGenerator

import httpx
import pytest
from starlette.types import Message

from service.web.app import create_app
from tests.web.fakes import FakeApplication, FakeSessions
from tests.web.serving import HOST, Served, called, served, settings_with

pytestmark = pytest.mark.anyio

PAGE = "http://evil.example"
TURNS = "/sessions/ses_1/turns"
READS = ["/", "/sessions", "/sessions/ses_1", "/sessions/ses_1/events", "/tools", "/livez", "/readyz", "/openapi.json"]


def code_of(response: httpx.Response) -> str:
    assert response.headers["content-type"] == "application/problem+json"
    return response.json()["code"]


@pytest.mark.rules("K1")
@pytest.mark.parametrize("origin", [PAGE, "null", "http://localhost:3000", "http://localhost:8000.evil.example"])
async def test_a_page_of_another_origin_starts_no_turn(
    http: httpx.AsyncClient, sessions: FakeSessions, origin: str
) -> None:
    response = await http.post(TURNS, json={"content": "Hi"}, headers={"Origin": origin})

    assert (response.status_code, code_of(response)) == (403, "forbidden")
    assert sessions.started == []


@pytest.mark.rules("K1")
@pytest.mark.parametrize("path", READS)
async def test_a_page_of_another_origin_reads_nothing_not_even_a_stream(
    http: httpx.AsyncClient, sessions: FakeSessions, path: str
) -> None:
    response = await http.get(path, headers={"Origin": PAGE})

    assert (response.status_code, code_of(response)) == (403, "forbidden")
    assert sessions.followed == []


@pytest.mark.rules("K1")
@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "localhost.evil.example:8000"])
@pytest.mark.parametrize("path", READS)
async def test_a_name_that_was_rebound_to_loopback_is_not_answered(
    http: httpx.AsyncClient, host: str, path: str
) -> None:
    response = await http.get(path, headers={"Host": host, "Origin": f"http://{host}"})

    assert (response.status_code, code_of(response)) == (421, "wrong_host")


@pytest.mark.rules("K1")
@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1:8000", "[::1]:8000"])
async def test_our_own_page_is_answered_under_each_loopback_name(http: httpx.AsyncClient, host: str) -> None:
    response = await http.get("/livez", headers={"Host": host, "Origin": f"http://{host}"})

    assert response.status_code == 200


@pytest.mark.rules("K1")
@pytest.mark.parametrize(
    "content_type",
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "text/plain; application/json",
        "application/jsonp",
        "application/vnd.api+json",
        "",
        None,
    ],
)
async def test_a_body_that_a_form_could_send_is_not_read(
    http: httpx.AsyncClient, sessions: FakeSessions, content_type: str | None
) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}

    response = await http.post(TURNS, content=b'{"content":"Hi"}', headers=headers)

    assert (response.status_code, code_of(response)) == (415, "unsupported_media_type")
    assert sessions.started == []


@pytest.mark.rules("K1")
async def test_a_form_without_a_body_creates_nothing(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    response = await http.post("/sessions", headers={"Content-Type": "application/x-www-form-urlencoded"})

    assert response.status_code == 415
    assert sessions.created == []


@pytest.mark.rules("K1")
@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON; charset=utf-8"])
async def test_json_is_read(http: httpx.AsyncClient, sessions: FakeSessions, content_type: str) -> None:
    response = await http.post("/sessions", content=b"{}", headers={"Content-Type": content_type})

    assert response.status_code == 201
    assert len(sessions.created) == 1


@pytest.mark.rules("K2")
@pytest.mark.parametrize("name", ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "x-forwarded-proto"])
async def test_what_came_through_a_proxy_is_refused_without_keys(http: httpx.AsyncClient, name: str) -> None:
    response = await http.get("/livez", headers={name: "for=192.0.2.1"})

    assert (response.status_code, code_of(response)) == (403, "forbidden")
    assert response.json()["detail"] == "set API keys behind a proxy"


@pytest.mark.rules("K2")
@pytest.mark.parametrize("peer", ["192.0.2.1", "10.0.0.7", "fd00::7", "::ffff:192.0.2.1", "no address"])
async def test_another_machine_is_refused_without_keys(application: FakeApplication, peer: str) -> None:
    async with called(application, peer=peer) as http:
        response = await http.get("/livez")

    assert (response.status_code, code_of(response)) == (403, "forbidden")


@pytest.mark.rules("K2")
@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
async def test_this_machine_is_answered(application: FakeApplication, peer: str) -> None:
    async with called(application, peer=peer) as http:
        assert (await http.get("/livez")).status_code == 200


@pytest.mark.rules("K2")
async def test_a_peer_that_the_server_does_not_know_is_refused(application: FakeApplication) -> None:
    app = create_app(settings_with(), application.build)
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/livez",
        "query_string": b"",
        "headers": [(b"host", HOST.encode())],
        "client": None,
    }
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)

    assert sent[0]["status"] == 403


@pytest.mark.rules("K1")
async def test_a_request_that_names_two_hosts_is_not_answered(service: Served) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")

    async with asyncio.timeout(20):
        status_line = await reader.readline()
    writer.close()

    assert status_line.split()[1] in (b"400", b"421")


@pytest.mark.rules("H2")
async def test_a_body_over_the_cap_is_refused_before_it_is_read(service: Served) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    head = b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    # The body is announced and never sent.
    writer.write(head + b"Content-Length: 8388609\r\n\r\n")

    async with asyncio.timeout(20):
        status_line = await reader.readline()
    writer.close()

    assert status_line.split()[1] == b"413"


@pytest.mark.rules("H2")
async def test_a_body_of_untold_length_is_read_up_to_the_cap(
    application: FakeApplication, sessions: FakeSessions
) -> None:
    read = 0

    async def endless() -> AsyncGenerator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b" " * 1024

    headers = {"Content-Type": "application/json"}
    async with called(application, settings_with(max_body_bytes=8192)) as http:
        response = await http.post("/sessions", content=endless(), headers=headers)

    assert (response.status_code, code_of(response)) == (413, "too_large")
    assert read == 9
    assert sessions.created == []


@pytest.mark.rules("H2")
async def test_a_body_at_the_cap_is_read(application: FakeApplication) -> None:
    headers = {"Content-Type": "application/json"}
    async with called(application, settings_with(max_body_bytes=1024)) as http:
        at_cap = await http.post("/sessions", content=b"{}".ljust(1024), headers=headers)
        above = await http.post("/sessions", content=b"{}".ljust(1025), headers=headers)

    assert (at_cap.status_code, above.status_code) == (201, 413)


@pytest.mark.rules("K1")
async def test_a_page_of_an_allowed_origin_may_read_answers_and_their_headers(
    application: FakeApplication,
) -> None:
    origin = "https://app.example"
    preflight = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    async with called(application, settings_with(allowed_origins=[origin])) as http:
        asked = await http.options(TURNS, headers=preflight)
        created = await http.post("/sessions", json={}, headers={"Origin": origin})
        refused = await http.post("/sessions", json={}, headers={"Origin": PAGE})

    assert asked.status_code == 200
    assert asked.headers["access-control-allow-origin"] == origin
    assert created.status_code == 201
    assert created.headers["access-control-allow-origin"] == origin
    assert "Location" in created.headers["access-control-expose-headers"]
    assert refused.status_code == 403


@pytest.mark.rules("K1")
async def test_no_origin_is_allowed_to_read_by_default(http: httpx.AsyncClient) -> None:
    response = await http.get("/livez", headers={"Origin": f"http://{HOST}"})

    assert "access-control-allow-origin" not in response.headers


@pytest.mark.rules("K1", "K5")
@pytest.mark.parametrize("path", ["/", "/livez", "/nothing", "/sessions/ses_1/events"])
async def test_no_answer_may_run_be_framed_or_be_guessed_at(http: httpx.AsyncClient, path: str) -> None:
    headers = (await http.get(path)).headers

    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"


@pytest.mark.rules("K1")
async def test_a_refused_caller_is_refused_on_a_real_connection_too(application: FakeApplication) -> None:
    async with served(application) as service:
        response = await service.http.post(TURNS, json={"content": "Hi"}, headers={"Origin": PAGE})

    assert response.status_code == 403
