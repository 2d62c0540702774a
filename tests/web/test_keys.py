"""What a key is and how it is sent, and what changes when a service has keys (K1, K2, K3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
import pytest
from starlette.types import Message

from service.core.callers import Scope
from service.web.access import Access
from service.web.app import create_app
from service.web.routes import ROUTERS
from tests.web.fake_keys import FakeKeys
from tests.web.fakes import FakeApplication, FakeFollower
from tests.web.serving import BOUND_S, HOST, called, frames_of, served, settings_with

pytestmark = [pytest.mark.anyio, pytest.mark.rules("K3")]

PROXY = "203.0.113.9"


@asynccontextmanager
async def with_keys(
    keys: FakeKeys, application: FakeApplication | None = None, *, peer: str = "127.0.0.1", **settings: object
) -> AsyncGenerator[httpx.AsyncClient]:
    async with called(application or FakeApplication(), settings_with(**settings), keys=keys, peer=peer) as http:
        yield http


async def test_a_key_is_sent_as_a_bearer_token_or_in_a_header_of_its_own() -> None:
    keys = FakeKeys()
    keys.add("ada")
    async with with_keys(keys) as http:
        ways = [
            {"Authorization": "Bearer key-of-ada"},
            {"Authorization": "bearer key-of-ada"},
            {"X-API-Key": "key-of-ada"},
            {"Authorization": "Bearer key-of-ada", "X-API-Key": "key-of-ada"},
        ]
        assert [(await http.get("/sessions", headers=way)).status_code for way in ways] == [200] * 4


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Basic a2V5LW9mLWFkYQ=="},
        {"Authorization": "key-of-ada"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer key-of-ada key-of-ada"},
        {"Authorization": "Bearer key-of-bob", "X-API-Key": "key-of-ada"},
        {"X-API-Key": ""},
        {"X-API-Key": "key-of-adam"},
        {"X-API-Key": "k\xe9y"},
        {"Cookie": "key=key-of-ada"},
    ],
    ids=str,
)
async def test_what_is_no_key_or_not_one_alone_is_refused(headers: dict[str, str]) -> None:
    keys = FakeKeys()
    keys.add("ada")
    keys.add("bob")
    async with with_keys(keys) as http:
        sent = httpx.Headers([(name.encode(), value.encode("latin-1")) for name, value in headers.items()])
        answer = await http.get("/sessions", headers=sent)

        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert "key-of" not in answer.text


async def test_a_key_in_an_address_is_none() -> None:
    keys = FakeKeys()
    keys.add("ada")
    async with with_keys(keys) as http:
        assert (await http.get("/sessions?api_key=key-of-ada")).status_code == 401


async def test_keys_that_are_added_and_revoked_are_so_for_the_next_request() -> None:
    keys = FakeKeys()
    async with with_keys(keys) as http:
        ada = {"Authorization": "Bearer key-of-ada"}
        assert (await http.get("/sessions", headers=ada)).status_code == 401
        keys.add("ada")
        assert (await http.get("/sessions", headers=ada)).status_code == 200
        keys.revoke("ada")
        assert (await http.get("/sessions", headers=ada)).status_code == 401


async def test_a_key_that_is_revoked_or_gets_other_scopes_loses_its_open_streams_and_no_other_does() -> None:
    keys, application = FakeKeys(), FakeApplication()
    ada, bob, eve = keys.add("ada"), keys.add("bob"), keys.add("eve")
    application.sessions.follower = FakeFollower(ends=False)
    async with served(application, keys=keys) as service, asyncio.timeout(BOUND_S):
        async with (
            service.http.stream("GET", "/events", headers=ada) as of_ada,
            service.http.stream("GET", "/events", headers=bob) as of_bob,
            service.http.stream("GET", "/events", headers=eve) as of_eve,
        ):
            frames = [frames_of(stream) for stream in (of_ada, of_bob, of_eve)]
            for each in frames:
                await anext(each)
            keys.revoke("ada")
            keys.add("eve", Scope.ADMIN)

            for cut in (frames[0], frames[2]):
                with pytest.raises(httpx.RemoteProtocolError):
                    await anext(cut)
            assert not of_bob.is_closed
        assert (await service.http.get("/sessions", headers=bob)).status_code == 200


@pytest.mark.rules("K2")
async def test_a_service_with_keys_is_open_to_other_machines_and_to_proxies() -> None:
    keys = FakeKeys()
    ada = keys.add("ada")
    async with with_keys(keys, peer=PROXY) as http:
        forwarded = {"X-Forwarded-For": "198.51.100.7", "Forwarded": "for=198.51.100.7", "Host": "agents.example"}
        assert (await http.get("/sessions", headers={**ada, **forwarded})).status_code == 200
        assert (await http.get("/sessions", headers=forwarded)).status_code == 401


@pytest.mark.rules("K1")
async def test_with_keys_any_host_is_answered_unless_some_are_named() -> None:
    keys = FakeKeys()
    ada = keys.add("ada")
    async with with_keys(keys) as http:
        assert (await http.get("/sessions", headers={**ada, "Host": "agents.example"})).status_code == 200
        assert (await http.get("/sessions", headers={**ada, "Host": "agents example"})).status_code == 421
    async with with_keys(keys, allowed_hosts=["agents.example"]) as http:
        assert (await http.get("/sessions", headers={**ada, "Host": "agents.example:8443"})).status_code == 200
        assert (await http.get("/sessions", headers={**ada, "Host": "other.example"})).status_code == 421


@pytest.mark.rules("K1")
async def test_a_page_of_another_origin_is_refused_though_it_has_a_key() -> None:
    keys = FakeKeys()
    ada = keys.add("ada")
    async with with_keys(keys) as http:
        answer = await http.get("/sessions", headers={**ada, "Origin": "http://evil.example"})

        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


@pytest.mark.rules("K1")
async def test_a_page_of_an_allowed_origin_may_ask_whether_it_may_send_a_key() -> None:
    keys = FakeKeys()
    ada = keys.add("ada")
    page = {"Origin": "https://app.example"}
    async with with_keys(keys, allowed_origins=["https://app.example"]) as http:
        wish = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization,x-api-key"}
        preflight = await http.options("/sessions", headers={**page, **wish})
        assert preflight.status_code == 200
        assert preflight.headers["access-control-allow-origin"] == "https://app.example"
        assert "access-control-allow-credentials" not in preflight.headers
        # The page can read why it is refused, and what it gets.
        for headers, status in ((page, 401), ({**page, **ada}, 200)):
            answer = await http.get("/sessions", headers=headers)
            assert answer.status_code == status
            assert answer.headers["access-control-allow-origin"] == "https://app.example"


async def test_a_body_is_not_read_of_who_may_not_send_it() -> None:
    keys = FakeKeys()
    keys.add("root", Scope.ADMIN)
    app = create_app(settings_with(), FakeApplication().build, keys)

    async def read() -> Message:
        raise AssertionError("the body is read")

    for key, status in ((b"", 401), (b"key-of-nobody", 401), (b"key-of-root", 403)):
        sent: list[Message] = []

        async def send(message: Message, sent: list[Message] = sent) -> None:
            sent.append(message)

        headers = [(b"host", HOST.encode()), (b"content-type", b"application/json"), (b"content-length", b"9")]
        headers += [(b"x-api-key", key)] if key else []
        scope = {"type": "http", "method": "POST", "path": "/sessions", "query_string": b"", "headers": headers}
        await app(scope, read, send)

        assert sent[0]["status"] == status


def test_a_route_without_a_row_of_its_own_stops_the_start() -> None:
    routes = [route for router in ROUTERS for route in router.routes]
    with pytest.raises(ValueError, match="list_slots"):
        Access([route for route in routes if getattr(route, "name", "") != "list_slots"])
    Access(routes)
