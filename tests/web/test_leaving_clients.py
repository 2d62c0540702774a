"""A client may leave in any way and at any time: its turn goes on, unless the client said otherwise (H5)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from service.core.ids import LOCAL_OWNER, SessionId, TurnId
from service.core.records import Outcome
from service.core.views import TurnState, TurnView
from service.turns.requests import OnBusy
from tests.fakes.house import House
from tests.fakes.llama import Play, ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec
from tests.web.leaving_client import WAYS, LeavingClient
from tests.web.serving import BOUND_S, Served, within_bound
from tests.web.stepped import settle
from tests.web.test_whole_way import served_house

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H5")]

FORMS = {"stream": "", "json": "Accept: application/json\r\n", "async": "Prefer: respond-async\r\n"}


@asynccontextmanager
async def asking(
    service: Served, session: SessionId, form: str, query: str = "", **asked: object
) -> AsyncGenerator[LeavingClient]:
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    body = json.dumps({"content": "Hi", **asked})
    writer.write(
        f"POST /sessions/{session}/turns{query} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"{FORMS[form]}Content-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    try:
        yield LeavingClient(reader, writer)
    finally:
        writer.close()


async def gone(service: Served) -> None:
    """Wait until the service has no connection and no task for one."""
    state = service.server.server_state
    async with asyncio.timeout(BOUND_S):
        while state.connections or state.tasks:
            await settle()


async def only_turn(house: House, session: SessionId) -> TurnView:
    (view,) = await house.sessions.turns(session, LOCAL_OWNER)
    return view


async def ended(house: House, session: SessionId, turn: TurnId) -> TurnView:
    async with asyncio.timeout(BOUND_S):
        return await house.finish(session, turn)


def held(text: str) -> Play:
    return say(text, before_end=asyncio.Event())


@pytest.mark.cases(12)
@pytest.mark.rules("H1")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", FORMS)
async def test_a_client_that_leaves_does_not_end_its_turn(form: str, way: str) -> None:
    play = held("To its end.")
    house = House(ScriptedLlama(play))
    session = await house.session()
    async with served_house(house) as service:
        async with asking(service, session, form) as client:
            await within_bound(play.streaming)
            client.leave(way)
            await gone(service)
        running = await only_turn(house, session)
        assert play.before_end is not None
        play.before_end.set()
        after = await ended(house, session, running.id)

    assert running.state is TurnState.RUNNING
    assert (after.outcome, after.content) == (Outcome.ANSWERED, "To its end.")


@pytest.mark.rules("T13", "H1")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", ["stream", "json"])
async def test_a_client_that_said_so_takes_its_turn_with_it(form: str, way: str) -> None:
    play = held("Half a word")
    house = House(ScriptedLlama(play, say("The next one.")))
    session = await house.session()
    async with served_house(house) as service:
        async with asking(service, session, form, "?on_disconnect=cancel") as client:
            await within_bound(play.streaming)
            turn = await only_turn(house, session)
            client.leave(way)
            after = await ended(house, session, turn.id)
            await gone(service)
        following = await house.run(session)

    assert (after.outcome, after.content) == (Outcome.CANCELLED, "Half a word")
    assert (house.llama.in_flight, house.turns.gate.in_use) == (0, 0)
    assert following.content == "The next one."


@pytest.mark.cases(12)
@pytest.mark.parametrize("way", WAYS)
async def test_a_client_that_waits_for_nothing_leaves_its_turn_behind_whatever_it_said(way: str) -> None:
    play = held("To its end.")
    house = House(ScriptedLlama(play))
    session = await house.session()
    async with served_house(house) as service:
        async with asking(service, session, "async", "?on_disconnect=cancel") as client:
            head = await client.head()
            client.leave(way)
            await gone(service)
        running = await only_turn(house, session)
        assert play.before_end is not None
        play.before_end.set()
        after = await ended(house, session, running.id)

    assert head.startswith("HTTP/1.1 202 ")
    assert after.outcome is Outcome.ANSWERED


@pytest.mark.rules("T13")
@pytest.mark.parametrize("form", ["stream", "json"])
async def test_it_takes_a_turn_with_it_whose_tool_runs(form: str) -> None:
    port = TablePort(spec("slow"))
    port.hold = asyncio.Event()
    house = House(ScriptedLlama(ask_for(call("slow"))), port)
    session = await house.session()
    async with served_house(house) as service, asking(service, session, form, "?on_disconnect=cancel") as client:
        await within_bound(port.arrived)
        turn = await only_turn(house, session)
        client.leave("closes")
        after = await ended(house, session, turn.id)

    assert (after.outcome, port.aborted) == (Outcome.CANCELLED, 1)


@pytest.mark.rules("H4", "T13")
@pytest.mark.parametrize("form", ["stream", "json"])
async def test_it_takes_a_turn_with_it_that_still_waits_in_the_queue(form: str) -> None:
    play = held("The first one.")
    house = House(ScriptedLlama(play, say("Never said.")))
    session = await house.session()
    first = await house.start(session)
    await within_bound(play.streaming)
    async with served_house(house) as service:
        async with asking(service, session, form, "?on_disconnect=cancel", on_busy=OnBusy.QUEUE) as client:
            second = await _queued(house, session)
            client.leave("closes")
            after = await ended(house, session, second)
            await gone(service)
        assert play.before_end is not None
        play.before_end.set()
        before = await ended(house, session, first)

    assert (after.outcome, after.steps) == (Outcome.CANCELLED, 0)
    assert before.content == "The first one."
    assert len(house.llama.requests) == 1


async def _queued(house: House, session: SessionId) -> TurnId:
    following = await house.sessions.follow(session, LOCAL_OWNER, turn=None, after_pos=None)
    assert following is not None
    async with asyncio.timeout(BOUND_S), following:
        async for batch in following:
            for event in batch:
                if getattr(event, "type", None) == "turn_queued":
                    assert event.turn is not None
                    return event.turn
    raise AssertionError("nothing was queued")
