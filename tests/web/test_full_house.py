"""More connections than there may be: the further ones are told so at once, and health is answered still (H2)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from service.web.connection_bounds import RESERVE
from tests.web.bounded import CREATE, LIVE, Bounded, RawClient, bounded
from tests.web.test_request_heads import problem_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H2")]

MOST = 20
REQUEST = CREATE + b"Content-Length: 2\r\n\r\n{}"


@asynccontextmanager
async def filled(service: Bounded, connections: int) -> AsyncGenerator[list[RawClient]]:
    """Open so many connections, each of which has asked something once and may ask again."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(service.client(LIVE)) for _ in range(connections)]
        for client in clients:
            assert (await client.answer()).startswith(b"HTTP/1.1 200 ")
        yield clients


async def test_one_connection_more_is_refused_and_the_others_go_on(capfd: pytest.CaptureFixture[str]) -> None:
    async with bounded(max_connections=MOST) as service, filled(service, MOST) as clients:
        refused = await service.answers(REQUEST)
        clients[0].send(REQUEST)
        served = await clients[0].answer()

    assert problem_of(refused) == (503, "too_many_connections", "closes")
    assert b"retry-after: 5\r\n" in refused
    assert served.startswith(b"HTTP/1.1 201 ")
    assert "event='connections.full'" in capfd.readouterr().out


async def test_health_is_answered_when_nothing_else_is() -> None:
    async with bounded(max_connections=MOST) as service, filled(service, MOST):
        answer = await service.answers(LIVE)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close\r\n" in answer


async def test_beyond_the_reserve_nobody_is_asked_what_they_want() -> None:
    async with bounded(max_connections=MOST) as service, filled(service, MOST), AsyncExitStack() as stack:
        for _ in range(RESERVE):
            await stack.enter_async_context(service.client())
        refused = await service.answers()

    assert problem_of(refused) == (503, "too_many_connections", "closes")


async def test_there_is_room_again_when_one_has_left() -> None:
    async with bounded(max_connections=MOST) as service, filled(service, MOST) as clients:
        clients[0].leave()
        await service.is_empty_but_for(MOST - 1)
        async with service.client(REQUEST) as client:
            answer = await client.answer()

    assert answer.startswith(b"HTTP/1.1 201 ")
