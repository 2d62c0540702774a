"""The web layer over real turns: a scripted model and the memory log, behind a real connection."""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from service.adapters.documents.processes import DocumentProcesses
from service.adapters.prometheus import PrometheusMeter
from service.bootstrap import Application
from service.config import Settings
from service.core.agents import AgentProfiles
from tests.fakes.house import House
from tests.fakes.llama import ScriptedLlama, ask_for, call, say
from tests.fakes.tool_port import TablePort, spec
from tests.readings.reader_llama import ReaderLlama
from tests.readings.reading_house import ReadingHouse, retain
from tests.web.serving import Frame, Served, frames_of, served_by, within_bound

pytestmark = pytest.mark.anyio

HI = {"content": "Hi"}


@asynccontextmanager
async def served_house(
    house: House, metrics: PrometheusMeter | None = None, settings: Settings | None = None
) -> AsyncGenerator[Served]:
    @asynccontextmanager
    async def build(_: Settings) -> AsyncGenerator[Application]:
        turns = house.turns
        yield Application(
            sessions=turns.sessions,
            readings=ReadingHouse(ReaderLlama(lambda asked: retain())).readings,
            documents=DocumentProcesses(),
            tools=turns.tools,
            readiness=turns.readiness,
            server=turns.server_view,
            agents=AgentProfiles(),
            metrics=metrics or PrometheusMeter(),
            clock=house.clock,
            poll_s=2,
        )

    async with served_by(build, settings) as service:
        yield service


def a_house() -> House:
    return House(ScriptedLlama(ask_for(call("clock")), say("It is noon.")), TablePort(spec("clock")))


async def new_session(service: Served) -> str:
    created = await service.http.post("/sessions")
    assert created.status_code == 201
    return created.headers["location"]


async def stream(service: Served, method: str, path: str, **asked: object) -> list[Frame]:
    async with service.http.stream(method, path, **asked) as response:  # pyright: ignore[reportArgumentType]
        assert response.status_code == 200
        return [frame async for frame in frames_of(response)]


@pytest.mark.rules("S3")
async def test_the_hashes_of_a_log_chain_its_records_from_page_to_page() -> None:
    async with served_house(a_house()) as service:
        session = await new_session(service)
        await stream(service, "POST", f"{session}/turns", json={"content": "Grüße\u2028 \U0001f9f5 \x7f"})
        pages = [(await service.http.get(f"{session}/records?limit=4")).json()]
        while (after := pages[-1]["next"]) is not None:
            pages.append((await service.http.get(f"{session}/records?limit=4&after={after}")).json())

    assert len(pages) > 1
    before = bytes(32)
    for page in pages:
        assert len(page["hashes"]) == len(page["items"]) > 0
        for record, told in zip(page["items"], page["hashes"], strict=True):
            del record["pos"]
            body = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            before = hashlib.sha256(before + body.encode()).digest()
            assert before.hex() == told


@pytest.mark.rules("H1", "H6", "T1")
async def test_a_turn_streams_from_its_message_to_its_end_and_replays_the_same_records() -> None:
    async with served_house(a_house()) as service:
        session = await new_session(service)
        live = await stream(service, "POST", f"{session}/turns", json=HI)
        turn = live[1].data["turn"]
        replayed = await stream(service, "GET", f"{session}/turns/{turn}/events")
        page = (await service.http.get(f"{session}/records")).json()

    records = [frame for frame in live if frame.field("id") is not None]
    assert [frame.field("event") for frame in records] == [
        "user",
        "assistant",
        "usage",
        "tool_call_started",
        "tool_result",
        "assistant",
        "usage",
        "turn_finished",
    ]
    assert "".join(frame.data["text"] for frame in live if frame.field("event") == "content") == "It is noon."
    assert [frame for frame in replayed if frame.field("id") is not None] == records
    assert [record["type"] for record in page["items"]] == ["session_created", *[f.field("event") for f in records]]
    assert page["items"][1:] == [frame.data for frame in records]


@pytest.mark.rules("H6")
async def test_a_stream_goes_on_behind_any_of_its_records_and_stops_behind_the_last() -> None:
    async with served_house(a_house()) as service:
        session = await new_session(service)
        live = await stream(service, "POST", f"{session}/turns", json=HI)
        places = [place for frame in live if (place := frame.field("id"))]
        address = f"{session}/turns/{live[1].data['turn']}/events"
        for seen, place in enumerate(places[:-1], start=1):
            resumed = await stream(service, "GET", address, headers={"Last-Event-ID": place})
            assert [frame.field("id") for frame in resumed if frame.field("id")] == places[seen:]
        at_end = await service.http.get(address, headers={"Last-Event-ID": places[-1]})
        past_the_store = await service.http.get(f"{address}?after=999999")

    assert (at_end.status_code, past_the_store.status_code) == (204, 204)


@pytest.mark.rules("H1")
async def test_a_turn_is_waited_for_and_found_again() -> None:
    async with served_house(a_house()) as service:
        session = await new_session(service)
        waited = await service.http.post(f"{session}/turns", json=HI, headers={"Accept": "application/json"})
        found = await service.http.get(waited.headers["content-location"])
        shown = (await service.http.get(session)).json()

    assert waited.json() == found.json()
    assert (waited.json()["outcome"], waited.json()["content"]) == ("answered", "It is noon.")
    assert (shown["state"], shown["usage"]) == ("idle", waited.json()["usage"])


@pytest.mark.rules("H4")
async def test_a_second_message_is_refused_while_the_first_one_runs() -> None:
    port = TablePort(spec("clock"))
    port.hold = asyncio.Event()
    house = House(ScriptedLlama(ask_for(call("clock")), say("It is noon.")), port)
    async with served_house(house) as service:
        session = await new_session(service)
        started = await service.http.post(f"{session}/turns", json=HI, headers={"Prefer": "respond-async"})
        await within_bound(port.arrived)
        refused = await service.http.post(f"{session}/turns", json=HI)
        port.hold.set()
        rest = await stream(service, "GET", f"{started.headers['location']}/events")

    assert (refused.status_code, refused.json()["code"]) == (409, "turn_in_progress")
    assert refused.json()["turn"] == started.json()["id"]
    assert refused.headers["retry-after"] == "1"
    assert rest[-1].data["outcome"] == "answered"


@pytest.mark.rules("H5")
async def test_a_client_that_leaves_its_stream_does_not_end_the_turn() -> None:
    port = TablePort(spec("clock"))
    port.hold = asyncio.Event()
    house = House(ScriptedLlama(ask_for(call("clock")), say("It is noon.")), port)
    async with served_house(house) as service:
        session = await new_session(service)
        async with service.http.stream("POST", f"{session}/turns", json=HI) as response:
            address = response.headers["content-location"]
            await within_bound(port.arrived)
        port.hold.set()
        rest = await stream(service, "GET", f"{address}/events")

    assert rest[-1].data["outcome"] == "answered"


@pytest.mark.cases(24)
@pytest.mark.rules("H3")
async def test_the_same_message_with_its_key_runs_once_however_often_and_in_whatever_form_it_is_sent() -> None:
    async with served_house(a_house()) as service:
        session = await new_session(service)
        headers = {"Idempotency-Key": "k1"}
        streams = await asyncio.gather(
            *(stream(service, "POST", f"{session}/turns", json=HI, headers=headers) for _ in range(10))
        )
        whole = await service.http.post(f"{session}/turns", json=HI, headers={**headers, "Accept": "application/json"})
        later = await service.http.post(f"{session}/turns", json=HI, headers={**headers, "Prefer": "respond-async"})
        other = await service.http.post(f"{session}/turns", json={"content": "Bye"}, headers=headers)
        turns = (await service.http.get(f"{session}/turns")).json()["items"]

    ids = [[frame.field("id") for frame in frames if frame.field("id")] for frames in streams]
    assert len(turns) == 1
    assert all(seen == ids[0] for seen in ids)
    assert (whole.json(), later.status_code, later.json()["id"]) == (turns[0], 202, turns[0]["id"])
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")


@pytest.mark.rules("H5")
async def test_a_client_that_said_so_takes_its_turn_with_it_whoever_else_follows() -> None:
    half = say("Half a word", before_end=asyncio.Event())
    house = House(ScriptedLlama(half))
    async with served_house(house) as service:
        session = await new_session(service)
        async with service.http.stream("POST", f"{session}/turns?on_disconnect=cancel", json=HI) as response:
            frames = frames_of(response)
            await anext(frames)
            turn = (await anext(frames)).data["turn"]
            await within_bound(half.streaming)
            other = asyncio.create_task(stream(service, "GET", f"{session}/turns/{turn}/events"))
        ended = await asyncio.wait_for(other, 5)
        shown = (await service.http.get(f"{session}/turns/{turn}")).json()

    assert ended[-1].field("event") == "turn_finished"
    assert (shown["outcome"], shown["content"]) == ("cancelled", "Half a word")
