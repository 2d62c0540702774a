"""K3: over real connections places are given back however a client leaves, again and again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from starlette.types import Receive, Scope, Send

from service.core.callers import Caller
from service.core.callers import Scope as KeyScope
from service.core.ids import LOCAL_OWNER
from service.web.app import WebApp
from service.web.authentication import CALLER
from service.web.quotas import Quotas
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, say
from tests.web.leaving_client import WAYS, LeavingClient
from tests.web.serving import BOUND_S, Served
from tests.web.stepped import settle
from tests.web.test_whole_way import served_house

# On a busy machine a test may reach into the next minute.
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("hand_time"), pytest.mark.rules("K3")]

ANN = Caller(name="ann", owner=LOCAL_OWNER, scopes=frozenset({KeyScope.TURNS}))
MOST = 4


@dataclass
class Bounded:
    """A service whose callers have bounds."""

    served: Served
    house: House
    quotas: Quotas
    clients: list[LeavingClient] = field(default_factory=lambda: [])


@asynccontextmanager
async def bounded(house: House, *, requests: int = 0, streams: int = 0, per_minute: int = 0) -> AsyncGenerator[Bounded]:
    """Serve with quotas before all else; who asks is always the same."""
    async with served_house(house) as served:
        app = served.server.config.app
        assert isinstance(app, WebApp)
        quotas = Quotas(app.front, requests_per_minute=per_minute, requests_at_once=requests, streams_at_once=streams)

        async def known(scope: Scope, receive: Receive, send: Send) -> None:
            scope[CALLER] = ANN
            await quotas(scope, receive, send)

        app.front = known
        service = Bounded(served, house, quotas)
        try:
            yield service
        finally:
            for client in service.clients:
                client.close()


async def connect(service: Bounded, asked: str) -> LeavingClient:
    reader, writer = await asyncio.open_connection("127.0.0.1", service.served.port)
    writer.write(asked.encode())
    service.clients.append(LeavingClient(reader, writer))
    return service.clients[-1]


async def get(service: Bounded, path: str) -> LeavingClient:
    return await connect(service, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")


async def post(service: Bounded, path: str, body: str, *, missing: int = 0) -> LeavingClient:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return await connect(service, f"{head}Content-Length: {len(body) + missing}\r\n\r\n{body}")


async def all_gone(service: Bounded) -> None:
    """Wait until the service has no connection and no task for one."""
    state = service.served.server.server_state
    async with asyncio.timeout(BOUND_S):
        while state.connections or state.tasks:
            await settle()


def assert_refused(head: str) -> None:
    lines = head.lower().split("\r\n")
    assert lines[0].startswith("http/1.1 429 ")
    assert "content-type: application/problem+json" in lines
    assert any(line.startswith("retry-after: ") for line in lines)


@pytest.mark.parametrize("way", WAYS)
async def test_streams_that_are_left_again_and_again_take_no_places(way: str) -> None:
    house = House(ScriptedLlama())
    session = await house.session()
    async with bounded(house, streams=MOST) as service:
        for _ in range(25):
            clients = [await get(service, f"/sessions/{session}/events") for _ in range(MOST)]
            for client in clients:
                assert (await client.head()).startswith("HTTP/1.1 200 ")
            one_more = await get(service, "/events")
            assert_refused(await one_more.head())
            one_more.leave("closes")
            assert service.quotas.open == {"ann": MOST}

            for client in clients:
                client.leave(way)
            await all_gone(service)

            assert service.quotas.open == {}


async def test_streams_that_are_left_before_their_answer_began_take_no_places() -> None:
    house = House(ScriptedLlama())
    session = await house.session()
    async with bounded(house, streams=MOST) as service:
        for _ in range(100):
            (await get(service, f"/sessions/{session}/events")).leave("resets")
        await all_gone(service)

        assert service.quotas.open == {}
        for _ in range(MOST):
            assert (await (await get(service, "/events")).head()).startswith("HTTP/1.1 200 ")


@pytest.mark.parametrize("way", WAYS)
async def test_a_turn_that_is_streamed_is_one_request_until_its_client_leaves(way: str) -> None:
    play = say("So.", before_end=asyncio.Event())
    house = House(ScriptedLlama(play))
    session = await house.session()
    async with bounded(house, requests=1) as service:
        client = await post(service, f"/sessions/{session}/turns", json.dumps({"content": "Hi"}))
        assert "text/event-stream" in await client.head()
        assert service.quotas.open == {"ann": 1}
        refused = await post(service, "/sessions", "{}")
        assert_refused(await refused.head())
        refused.leave("closes")

        client.leave(way)
        await all_gone(service)

        assert service.quotas.open == {}
        assert (await service.served.http.get(f"/sessions/{session}")).status_code == 200
        assert play.before_end is not None
        play.before_end.set()


@pytest.mark.parametrize("way", ["closes", "resets"])
async def test_a_client_that_leaves_within_its_body_takes_no_place(way: str) -> None:
    async with bounded(House(ScriptedLlama()), requests=1) as service:
        for _ in range(20):
            client = await post(service, "/sessions", '{"title":', missing=9)
            async with asyncio.timeout(BOUND_S):
                while not service.quotas.open:
                    await settle()
            client.leave(way)
            await all_gone(service)
            assert service.quotas.open == {}

        assert (await service.served.http.post("/sessions")).status_code == 201


async def test_a_refused_request_leaves_its_connection_usable_and_begins_nothing() -> None:
    house = House(ScriptedLlama())
    async with bounded(house, per_minute=2) as service:
        answers = [await service.served.http.post("/sessions", json={}) for _ in range(4)]
        healthy = await service.served.http.get("/livez")

    assert [answer.status_code for answer in answers] == [201, 201, 429, 429]
    assert int(answers[2].headers["retry-after"]) >= 1
    assert answers[2].json()["code"] == "rate_limited"
    assert healthy.status_code == 200
    assert len(await house.log.sessions(owner=None, limit=9)) == 2
