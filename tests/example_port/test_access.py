"""Who may use the port, and what it refuses before it looks at a call."""

from collections.abc import AsyncIterator

import httpx
import pytest

from service.example_port.app import create_app
from service.port_wire.incoming import MAX_BODY_BYTES
from tests.example_port.port_client import PortClient, connected

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X5")]

JSON = {"Content-Type": "application/json"}


def assert_problem(response: httpx.Response, status: int, code: str) -> None:
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert (problem["type"], problem["status"], problem["code"]) == ("about:blank", status, code)
    assert problem["title"]
    assert problem["detail"]


async def test_healthz_answers_everybody() -> None:
    async with connected(create_app(token="secret")) as port:
        response = await port.http.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize(
    "authorization",
    [None, "", "secret", "Basic secret", "Bearer", "Bearer ", "Bearer wrong", "Bearer secret2", "Bearer żółć"],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_without_the_token_nothing_is_listed_and_nothing_runs(authorization: str | None, method: str) -> None:
    headers = [] if authorization is None else [(b"Authorization", authorization.encode())]
    async with connected(create_app(token="secret")) as port:
        response = await port.http.request(method, "/tools" if method == "GET" else "/calls", headers=headers)
    assert_problem(response, 401, "unauthorized")
    assert response.headers["www-authenticate"] == "Bearer"
    assert "secret" not in response.text


@pytest.mark.parametrize("authorization", ["Bearer sécret", "bearer sécret"])
async def test_the_token_opens_the_port(authorization: str) -> None:
    async with connected(create_app(token="sécret")) as port:
        port.http.headers = httpx.Headers([(b"Authorization", authorization.encode())])
        assert "get_weather" in await port.specs()
        assert (await port.call("get_weather", {"city": "Oslo"}))["status"] == "result"


@pytest.mark.parametrize(("method", "path"), [("GET", "/tools"), ("POST", "/calls")])
async def test_web_pages_are_refused(port: PortClient, method: str, path: str) -> None:
    response = await port.http.request(method, path, headers={"Origin": "http://localhost:8000"}, json={})
    assert_problem(response, 403, "forbidden")


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded"])
async def test_a_body_that_a_form_could_send_is_refused(port: PortClient, content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    assert_problem(await port.http.post("/calls", content=b"{}", headers=headers), 415, "unsupported_media_type")


async def test_the_content_type_may_have_parameters_and_any_case(port: PortClient) -> None:
    body = b'{"session":"s","turn":"t","call":1,"tool":"list_notes","arguments":{}}'
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert (await port.http.post("/calls", content=body, headers=headers)).status_code == 200


async def test_a_body_at_the_cap_is_read_and_one_byte_more_is_refused(port: PortClient) -> None:
    body = b'{"session":"s","turn":"t","call":1,"tool":"list_notes","arguments":{}}'.ljust(MAX_BODY_BYTES)
    assert (await port.http.post("/calls", content=body, headers=JSON)).status_code == 200
    assert_problem(await port.http.post("/calls", content=body + b" ", headers=JSON), 413, "too_large")


async def test_a_body_over_the_cap_is_not_read_to_its_end(port: PortClient) -> None:
    given = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal given
        while True:
            given += MAX_BODY_BYTES
            assert given < 10 * MAX_BODY_BYTES
            yield b" " * MAX_BODY_BYTES

    assert_problem(await port.http.post("/calls", content=endless(), headers=JSON), 413, "too_large")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/tools/", 404, "not_found"),
        ("GET", "/docs", 404, "not_found"),
        ("GET", "/calls", 405, "method_not_allowed"),
        ("DELETE", "/tools", 405, "method_not_allowed"),
    ],
)
async def test_unknown_paths_and_methods_are_problems(
    port: PortClient, method: str, path: str, status: int, code: str
) -> None:
    assert_problem(await port.http.request(method, path), status, code)
